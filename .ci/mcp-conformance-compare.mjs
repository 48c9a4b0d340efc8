// Compares two result folders of the official conformance suite, check by check.
// Usage: node mcp-conformance-compare.mjs BEFORE AFTER
// Each folder has one subfolder a revision. It exits with 1 if any check ended
// otherwise in AFTER, or if there are no checks.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [before, after] = process.argv.slice(2);

// results maps each check to how it ended, as often as the scenario has it.
function results(folder) {
  const found = new Map();
  for (const revision of readdirSync(folder)) {
    for (const run of readdirSync(join(folder, revision))) {
      const scenario = run.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
      for (const check of JSON.parse(readFileSync(join(folder, revision, run, "checks.json"), "utf8"))) {
        const key = `${revision} ${scenario}: ${check.id}`;
        found.set(key, [...(found.get(key) ?? []), check]);
      }
    }
  }
  return found;
}

const one = results(before), other = results(after);
const ended = (checks) => (checks ?? []).map((c) => c.status).sort().join(" ") || "absent";
const why = (checks) => (checks ?? []).map((c) => c.errorMessage).filter(Boolean).join("; ").slice(0, 300);
let differences = 0, passed = 0;
for (const key of [...new Set([...one.keys(), ...other.keys()])].sort()) {
  const was = ended(one.get(key)), is = ended(other.get(key));
  if (/SUCCESS/.test(is)) passed++;
  if (was === is) continue;
  differences++;
  console.error(`${key}: ${was}, then ${is} ${why(other.get(key)) || why(one.get(key))}`);
}
if (passed === 0) console.error("no check has passed: the suite did not run");
console.log(`${one.size} checks compared, ${passed} passed, ${differences} ended otherwise`);
process.exit(differences === 0 && passed > 0 ? 0 : 1);
