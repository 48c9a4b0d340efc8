// Lists and calls every tool of examples/mcpserver with an official TypeScript
// client. scripts/mcp-acceptance.sh copies it beside the installed clients.
// Usage: node mcp-drive.mjs v1|v2-legacy|v2-modern stdio|http COMMAND|URL
// It exits with 1 if a tool is missing, fails, or is not known here.

const [which, way, target] = process.argv.slice(2);
const root = which === "v1" ? "@modelcontextprotocol/sdk/client/" : "@modelcontextprotocol/client";
const v1 = which === "v1";

const { Client } = await import(v1 ? root + "index.js" : root);
const { StdioClientTransport } = await import(v1 ? root + "stdio.js" : root + "/stdio");
const { StreamableHTTPClientTransport } = await import(v1 ? root + "streamableHttp.js" : root);

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
// These need a session that messages can be pushed to, and have steps of their own where a server has them.
const elsewhere = new Set(["events_subscribe", "events_unsubscribe", "events_list_subscriptions"]);

const options = v1 ? {} : { versionNegotiation: { mode: which === "v2-modern" ? { pin: "2026-07-28" } : "legacy" } };
const client = new Client({ name: "acceptance", version: "1" }, options);
const transport = way === "stdio"
  ? new StdioClientTransport({ command: target, args: ["-mode", "read-write"], env: process.env, stderr: "ignore" })
  : new StreamableHTTPClientTransport(new URL(target));
await client.connect(transport);

let failed = 0;
const complain = (text) => { failed++; console.error(text); };
const { tools } = await client.listTools();
const listed = new Set(tools.map((t) => t.name));
for (const name of listed) {
  if (!elsewhere.has(name) && !calls.some(([known]) => known === name)) complain(`${name} is listed and never called here`);
}
const called = new Set();
for (const [name, args] of calls) {
  if (!listed.has(name)) { complain(`${name} is not listed`); continue; }
  const result = await client.callTool({ name, arguments: args }); // the client holds structuredContent against outputSchema
  if (result.isError || result.structuredContent === undefined) complain(`${name}: ${JSON.stringify(result).slice(0, 400)}`);
  called.add(name);
}
const refused = await client.callTool({ name: "get_runs", arguments: { limit: 0 } });
if (!refused.isError) complain("get_runs with limit 0 was not refused");
await client.close();
console.log(`${which} over ${way}: ${listed.size} tools listed, ${called.size} called, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
