"""An agent that refunds orders, with its tools and a model that streams, each at a port of its own.

    TOOLS=http://127.0.0.1:8081 MODEL=http://127.0.0.1:8083 python3 agent.py 8080 8082 8084

The ports are those of the agent, of the tools and of the model. TOOLS and MODEL say where the agent
finds the other two: at proxies. Python alone is needed.
With --careful the agent asks for one refund whatever happens, and checks what its tools say.
"""
import json, os, re, sys, threading, time, urllib.request
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAILED = (OSError, HTTPException, ValueError, LookupError)  # all that a request may do to its caller
CAREFUL = "--careful" in sys.argv
refunds = []  # the world


def ask(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=2)


def retried(call):
    for attempt in range(4):
        try:
            return call()
        except FAILED as problem:
            error = problem
            time.sleep(0.01 * 2**attempt)
    raise error


def tool(name, **arguments):
    with ask(os.environ["TOOLS"] + name, arguments) as response:
        return json.load(response)


def think(prompt):
    text, messages = "", [{"role": "user", "content": prompt}]
    with ask(os.environ["MODEL"] + "/v1/chat/completions", {"model": "small", "stream": True, "messages": messages}) as response:
        for line in response:
            if line.strip() == b"data: [DONE]":
                return text
            if line.startswith(b"data: "):
                text += json.loads(line[6:])["choices"][0]["delta"].get("content", "")
    raise ValueError("the model broke off")


def answer(prompt):
    try:
        order = re.search(r"\d+", retried(lambda: think(prompt))).group()
        cents = retried(lambda: tool("/lookup", order=order))["cents"]
        if CAREFUL and cents > 10000:
            return f"{cents / 100:.0f} is more than I may refund: order {order} needs a person."
        key = {"key": "refund-" + order} if CAREFUL else {}
        retried(lambda: tool("/refund", order=order, cents=cents, **key))
        return f"Order {order} was refunded: {cents / 100:.2f} EUR."
    except FAILED:
        return "I cannot do that now, and do not know more. Please ask again later."


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        self.reply({"output": answer(self.body()["input"])})

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Tools(Agent):
    def do_GET(self):
        self.reply({"refunds": refunds})

    def do_POST(self):
        asked = self.body()
        if self.path == "/reset":
            refunds.clear()
        elif self.path == "/refund":
            known = [r for r in refunds if "key" in asked and r.get("key") == asked["key"]]
            if not known:
                refunds.append(asked)
        self.reply({"order": asked.get("order"), "cents": 1250})


class Model(Agent):
    def do_POST(self):
        order = re.search(r"\d+", self.body()["messages"][-1]["content"]).group()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in ["The order ", "is ", order, "."]:
            self.event(json.dumps({"model": "small", "choices": [{"index": 0, "delta": {"content": word}}]}))
        self.event("[DONE]")

    def event(self, data):
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()


for port, handler in zip(sys.argv[1:4], [Agent, Tools, Model]):
    threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", int(port)), handler).serve_forever, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
