"""An agent that refunds orders, as a service: POST /agent {"input": "..."}, POST /reset, GET /state.

MODEL_URL is the model's endpoint, as OpenAI clients have it. It prints the port that it listens at.
With --fragile it begins a conversation anew when the model fails, and so does its work again.
"""
import json, os, re, sys, threading, urllib.request
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAILED = (OSError, HTTPException, ValueError, LookupError)  # all that a model's endpoint may do to a client
refunds = []  # the world: order numbers, one for each refund that was made
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": {
    "type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}}}]


def refund(order):
    refunds.append(order)
    return "refunded"


def complete(messages):
    body = json.dumps({"model": "gpt-5", "messages": messages, "tools": TOOLS}).encode()
    request = urllib.request.Request(os.environ["MODEL_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as response:
        message = json.load(response)["choices"][0]["message"]
    if not message.get("content") and not message.get("tool_calls"):
        raise ValueError("the model said nothing")
    return message


def retried(call):
    for attempt in range(3):
        try:
            return call()
        except FAILED as problem:
            error = problem
    raise error


def converse(prompt, complete):
    messages = [{"role": "user", "content": prompt}]
    while True:
        message = complete(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            result = refund(json.loads(call["function"]["arguments"])["order"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def answer(prompt):
    order = re.search(r"\d+", prompt).group()
    try:
        if "--fragile" in sys.argv:
            return retried(lambda: converse(prompt, complete))
        return converse(prompt, lambda messages: retried(lambda: complete(messages)))
    except FAILED:
        done = "was refunded" if order in refunds else "was not refunded"
        return f"My model cannot be reached. Order {order} {done}."


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(refunds)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/reset":
            refunds.clear()
            self.reply({})
        else:
            self.reply({"output": answer(json.loads(body)["input"])})

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()  # ends with its parent
print(server.server_port, flush=True)
server.serve_forever()
