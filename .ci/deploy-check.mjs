// Checks the properties that the rendered chart and the Compose file must have.
// .ci/deploy-check.sh copies it beside the yaml package.
// Usage: node deploy-check.mjs CHART.yaml COMPOSE.yaml

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";

const [chartFile, composeFile] = process.argv.slice(2);
const documents = parseAllDocuments(readFileSync(chartFile, "utf8"));
for (const d of documents) assert.deepEqual(d.errors, [], "every document is YAML");
const byKind = Object.fromEntries(documents.map((d) => d.toJS()).filter(Boolean).map((d) => [d.kind, d]));
assert.deepEqual(Object.keys(byKind).sort(), ["Deployment", "NetworkPolicy", "Service"]);

assert.equal(byKind.Service.spec.type, "ClusterIP");
assert.deepEqual(byKind.NetworkPolicy.spec.policyTypes, ["Ingress", "Egress"]);
assert.deepEqual(byKind.NetworkPolicy.spec.egress, []);

const pod = byKind.Deployment.spec.template.spec;
const [container, ...others] = pod.containers;
assert.equal(others.length, 0);
assert.equal(pod.automountServiceAccountToken, false);
assert.equal(pod.securityContext.runAsNonRoot, true);
assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } });
assert.ok(container.resources.limits.memory && container.resources.requests.cpu);
const env = Object.fromEntries(container.env.map((e) => [e.name, e]));
assert.equal(env.SHAKEDOWN_MCP_MODE.value, "read-only");
assert.equal(env.SHAKEDOWN_MCP_ENABLE_WRITE.value, "false");
assert.equal(env.SHAKEDOWN_MCP_TOKEN.value, undefined);
assert.deepEqual(env.SHAKEDOWN_MCP_TOKEN.valueFrom.secretKeyRef, { name: "desk-token", key: "token" });
assert.equal(container.readinessProbe.httpGet.path, "/healthz");
assert.deepEqual(container.livenessProbe, { httpGet: { ...container.readinessProbe.httpGet, path: "/livez" } });
const selector = byKind.Service.spec.selector;
for (const [name, value] of Object.entries(selector)) assert.equal(byKind.Deployment.spec.template.metadata.labels[name], value);
assert.ok(container.ports.some((p) => p.name === byKind.Service.spec.ports[0].targetPort));

const service = parse(readFileSync(composeFile, "utf8")).services.mcpserver;
assert.ok(service.ports.every((p) => p.startsWith("127.0.0.1:")));
assert.match(service.environment.SHAKEDOWN_MCP_TOKEN, /^\$\{SHAKEDOWN_MCP_TOKEN:\?/);
assert.match(service.environment.SHAKEDOWN_MCP_MODE, /:-read-only\}$/);
assert.match(service.environment.SHAKEDOWN_MCP_ENABLE_WRITE, /:-false\}$/);
assert.equal(service.read_only, true);
assert.deepEqual(service.cap_drop, ["ALL"]);
assert.deepEqual(service.security_opt, ["no-new-privileges:true"]);
assert.notEqual(service.user.split(":")[0], "0");
assert.ok(service.mem_limit && service.pids_limit);
console.log("ok    chart and Compose file: read-only, token from outside, loopback and ClusterIP, no root, no capabilities, limits");
