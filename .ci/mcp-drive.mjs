// Lists and calls every tool of examples/mcpserver with an official TypeScript
// client, receives a fault event, and follows the resource of faults.
// .ci/mcp-acceptance.sh copies it beside the installed clients.
// Usage: node mcp-drive.mjs v1|v2-legacy|v2-modern stdio COMMAND
//        node mcp-drive.mjs v1|v2-legacy|v2-modern http URL
//        node mcp-drive.mjs v1 sse URL
// It exits with 1 if a tool is missing, fails, or is not known here.

const [which, way, target] = process.argv.slice(2);
const root = which === "v1" ? "@modelcontextprotocol/sdk/client/" : "@modelcontextprotocol/client";
const v1 = which === "v1";

const { Client } = await import(v1 ? root + "index.js" : root);
const { StdioClientTransport } = await import(v1 ? root + "stdio.js" : root + "/stdio");
const { StreamableHTTPClientTransport } = await import(v1 ? root + "streamableHttp.js" : root);
const { SSEClientTransport } = await import(v1 ? root + "sse.js" : root);

// What each tool is called with, in an order in which it makes sense.
const calls = [
  ["chaos_status", { include_results: true }],
  ["chaos_inject_fault", { fault_name: "ts", action: "register", fault_type: "error", target: "orders.*", limit: 1 }],
  ["chaos_inject_fault", { fault_name: "ts", action: "remove" }],
  ["chaos_run_experiment", { experiment_name: "lookups are slow", dry_run: true }],
  ["contract_list", {}],
  ["contract_run", { matrix: "fragile desk", scenarios: ["refund-reply-lost"], invariants: ["one-refund"], trials: 1, seed: "9007199254740993" }],
  ["contract_report", { matrix: "fragile desk", cells: true }],
  ["resilience_score", { matrix: "fragile desk", renormalise: true }],
  ["get_runs", {}],
  ["get_graph", { runId: "live" }],
  ["get_state_window", { runId: "live", start: 0, end: 2 }],
  ["detect_outages", { runId: "live", nodeId: "orders.get", start: 0, end: 999 }],
  ["compute_recovery_time", { runId: "live", nodeId: "orders.get", outageStartTs: 0, lookaheadEndTs: 2 }],
  ["run_scenario", { baseRunId: "live", label: "one clerk", parameters: { capacityMultiplier: 0.25 } }],
];
// These have steps of their own below.
const events = ["events_subscribe", "events_list_subscriptions", "events_unsubscribe"];

const modern = which === "v2-modern"; // protocol revision 2026-07-28 has no sessions
const options = v1 ? {} : { versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" } };
const client = new Client({ name: "acceptance", version: "1" }, options);
const transport = way === "stdio"
  ? new StdioClientTransport({ command: target, env: process.env, stderr: "ignore" })
  : new (way === "sse" ? SSEClientTransport : StreamableHTTPClientTransport)(new URL(target));
await client.connect(transport);

let failed = 0;
const complain = (text) => { failed++; console.error(text); };
const { tools } = await client.listTools();
const listed = new Set(tools.map((t) => t.name));
const called = new Set();
const known = new Set([...calls.map(([name]) => name), ...events]);
for (const name of listed) if (!known.has(name)) complain(`${name} is listed and never called here`);
for (const name of known) if (!listed.has(name)) complain(`${name} is not listed`);

async function call(name, args) {
  called.add(name);
  const result = await client.callTool({ name, arguments: args }); // the client checks structuredContent against outputSchema
  if (result.isError || result.structuredContent === undefined) complain(`${name}: ${JSON.stringify(result).slice(0, 400)}`);
  return result.structuredContent ?? {};
}

async function refused(name, args, code) {
  called.add(name);
  const result = await client.callTool({ name, arguments: args });
  const text = result.content?.[0]?.text ?? "{}";
  if (!result.isError || JSON.parse(text).code !== code) complain(`${name} was not refused with ${code}: ${text.slice(0, 400)}`);
}

// until polls, because messages of a server come at any time.
async function until(what, holds) {
  for (let i = 0; i < 300; i++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  complain(`30 s have passed without ${what}`);
}

// breakLookup breaks the next lookup of the live desk, which answers a customer every half second.
const broken = "orders.get";
const breakLookup = (name) => call("chaos_inject_fault", { fault_name: name, action: "register", fault_type: "error", target: broken, probability: 1, limit: 1 });
const remove = (name) => call("chaos_inject_fault", { fault_name: name, action: "remove" });

for (const [name, args] of calls) await call(name, args);
await refused("get_runs", { limit: 0 }, "invalid_arguments");

const faults = "chaos://faults";
const messages = [], updates = [];
const types = v1 ? await import("@modelcontextprotocol/sdk/types.js") : {};
client.setNotificationHandler(v1 ? types.LoggingMessageNotificationSchema : "notifications/message", ({ params }) => { messages.push(params); });
client.setNotificationHandler(v1 ? types.ResourceUpdatedNotificationSchema : "notifications/resources/updated", ({ params }) => { updates.push(params.uri); });

// Faults as messages: where there are sessions to send them to.
if (modern) {
  await refused("events_subscribe", {}, "session_required");
  const { removed } = await call("events_unsubscribe", { subscriptionId: "sub-none" });
  if (removed !== false) complain("a subscription that never was has been removed");
  const { subscriptions } = await call("events_list_subscriptions", {});
  if (subscriptions?.length !== 0) complain("there are subscriptions without a session");
} else {
  await client.setLoggingLevel("info");
  const { subscriptionId } = await call("events_subscribe", { target: "orders.*", minSeverity: "error" });
  await breakLookup("pushed");
  await until("a message of the fault", () => messages.some((m) => m.logger === "chaos/faults" && JSON.stringify(m.data).includes(`"${broken}"`)));
  await remove("pushed");
  const { subscriptions } = await call("events_list_subscriptions", {});
  const [own] = subscriptions ?? [];
  if (subscriptions?.length !== 1 || own.subscriptionId !== subscriptionId || !(own.delivered >= 1)) complain(`the subscription is listed as ${JSON.stringify(subscriptions)}`);
  const { removed } = await call("events_unsubscribe", { subscriptionId });
  if (removed !== true) complain("the subscription was not removed");
  const left = await call("events_list_subscriptions", {});
  if (left.subscriptions?.length !== 0) complain("the subscription is still listed");
}

// Faults as a resource: with sessions and without.
const read = async () => JSON.parse((await client.readResource({ uri: faults })).contents[0].text);
const before = BigInt((await read()).last);
const listening = modern ? await client.listen({ resourceSubscriptions: [faults] }) : await client.subscribeResource({ uri: faults });
await breakLookup("followed");
await until("an update of the resource", () => updates.includes(faults));
await remove("followed");
const after = await read();
const fresh = after.faults.filter((f) => BigInt(f.sequence) > before);
if (fresh.length !== 1 || fresh[0].resource.name !== broken) complain(`the resource does not show the fault: ${JSON.stringify(fresh).slice(0, 400)}`);
if (modern) await listening.close();
else await client.unsubscribeResource({ uri: faults });

await client.close();
console.log(`${which} over ${way}: ${listed.size} tools listed, ${called.size} called, ${messages.length} messages, ${updates.length} updates, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
