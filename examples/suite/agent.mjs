// An agent that refunds orders, with its tools and a model that streams, each at a port of its own.
//
//	TOOLS=http://127.0.0.1:8081 MODEL=http://127.0.0.1:8083 node agent.mjs 8080 8082 8084
//
// The ports are those of the agent, of the tools and of the model. TOOLS and MODEL say where the
// agent finds the other two: at proxies. Node 18 or newer alone is needed.
// With --careful the agent asks for one refund whatever happens, and checks what its tools say.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const careful = process.argv.includes("--careful");
let refunds = []; // the world

async function ask(address, body) {
  const response = await fetch(address, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body), signal: AbortSignal.timeout(2000),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response;
}

async function retried(call) {
  let error;
  for (let attempt = 0; attempt < 4; attempt++) {
    try {
      return await call();
    } catch (problem) {
      error = problem;
      await sleep(10 * 2 ** attempt);
    }
  }
  throw error;
}

const tool = async (name, body) => (await ask(process.env.TOOLS + name, body)).json();

async function think(prompt) {
  const messages = [{ role: "user", content: prompt }];
  const response = await ask(`${process.env.MODEL}/v1/chat/completions`, { model: "small", stream: true, messages });
  let text = "", rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines.filter((line) => line.startsWith("data: "))) {
      if (line === "data: [DONE]") return text;
      text += JSON.parse(line.slice(6)).choices[0].delta.content ?? "";
    }
  }
  throw new Error("the model broke off");
}

async function answer(prompt) {
  try {
    const [order] = (await retried(() => think(prompt))).match(/\d+/);
    const { cents } = await retried(() => tool("/lookup", { order }));
    if (careful && cents > 10000) return `${cents / 100} is more than I may refund: order ${order} needs a person.`;
    const key = careful ? { key: `refund-${order}` } : {};
    await retried(() => tool("/refund", { order, cents, ...key }));
    return `Order ${order} was refunded: ${(cents / 100).toFixed(2)} EUR.`;
  } catch {
    return "I cannot do that now, and do not know more. Please ask again later.";
  }
}

const servers = [
  async (asked, path, reply) => reply({ output: await answer(asked.input) }),
  async (asked, path, reply) => {
    if (path === "/state") return reply({ refunds });
    if (path === "/reset") refunds = [];
    if (path === "/refund" && !(asked.key && refunds.some((r) => r.key === asked.key))) refunds.push(asked);
    return reply({ order: asked.order, cents: 1250 });
  },
  async (asked, path, reply, response) => {
    const [order] = asked.messages.at(-1).content.match(/\d+/);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const content of ["The order ", "is ", order, "."]) {
      response.write(`data: ${JSON.stringify({ model: "small", choices: [{ index: 0, delta: { content } }] })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  },
];

await Promise.all(servers.map((serve, i) => new Promise((ready) => {
  createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const reply = (value) => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(value));
    };
    await serve(JSON.parse(body || "{}"), request.url, reply, response);
  }).listen(Number(process.argv[2 + i]), "127.0.0.1", ready);
})));
console.log("ready");
