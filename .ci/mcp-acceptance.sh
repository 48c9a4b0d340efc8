#!/usr/bin/env bash
# Tests examples/mcpserver with the public MCP clients. It needs Go, Node 20 or newer and
# the npm registry, and is no part of go test.
# Usage: .ci/mcp-acceptance.sh
# It runs all steps, prints a line for each, and exits with 1 if one failed.
# Everything that it installs or writes is in a temporary folder, which it removes.
# KEEP=1 keeps the folder, with the logs.
set -uo pipefail
cd "$(dirname "$0")/.."
here=$PWD

work=$(mktemp -d)
export npm_config_cache="$work/cache" npm_config_update_notifier=false GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
export MCP_CATALOG_PATH="$work/catalog.json" MCP_CLIENT_CONFIG_PATH="$work/client.json" # keeps the inspector out of the home folder
token=acceptance-$$
server_pids=()
failed=0
steps=0

finish() {
	local pid
	for pid in "${server_pids[@]:-}"; do
		[ -n "$pid" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	if [ -n "${KEEP:-}" ]; then echo "mcp-acceptance: logs are in $work"; else rm -rf "$work"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# expect CODE SECONDS NAME COMMAND... runs a step that must end with that status in that time.
expect() {
	local code=$1 seconds=$2 name=$3
	shift 3
	steps=$((steps + 1))
	local log="$work/step-$steps.log" began=$SECONDS got=0
	timeout -k 5 "$seconds" "$@" >"$log" 2>&1 </dev/null || got=$?
	if [ "$got" -eq "$code" ]; then
		printf 'ok   %3d s  %s (exit %d)\n' $((SECONDS - began)) "$name" "$got"
		return 0
	fi
	failed=$((failed + 1))
	printf 'FAIL %3d s  %s (exit %d, wanted %d)\n' $((SECONDS - began)) "$name" "$got" "$code"
	tail -n 25 "$log" | cut -c 1-400 | sed 's/^/       /'
	return 1
}

# says TEXT NAME looks for a text in what the last step wrote.
says() {
	if grep -q -- "$1" "$work/step-$steps.log"; then
		printf 'ok          %s\n' "$2"
	else
		failed=$((failed + 1))
		printf 'FAIL        %s: %s is not in its output\n' "$2" "$1"
	fi
}

# serve PORT FLAGS... starts the server over HTTP and waits until it listens.
serve() {
	local port=$1
	shift
	"$work/mcpserver" --http "127.0.0.1:$port" "$@" >"$work/audit-$port.log" 2>"$work/server-$port.log" &
	server_pids+=($!)
	local i
	for i in $(seq 100); do
		grep -q 'mcpserver: http' "$work/server-$port.log" && return 0
		sleep 0.1
	done
	echo "mcp-acceptance: the server on port $port did not start:" && cat "$work/server-$port.log"
	exit 1
}

expect 0 600 "build the server" go build -o "$work/" ./examples/mcpserver || exit 1
expect 0 600 "install the public clients" npm install --prefix "$work" --no-audit --no-fund --loglevel error \
	node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
	@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 || exit 1
node="$work/node_modules/.bin/node"
bins="$work/node_modules/.bin"

base=${PORT:-17460}
looking=http://127.0.0.1:$base/mcp
open=http://127.0.0.1:$((base + 1))/mcp
SHAKEDOWN_MCP_TOKEN=$token serve "$base"
SHAKEDOWN_MCP_MODE=read-write SHAKEDOWN_MCP_ENABLE_WRITE=true serve $((base + 1)) -loopback-without-token

echo "== inspector, both transports, both eras"
inspect() { # inspect CODE NAME ARGUMENTS...
	local code=$1 name=$2
	shift 2
	expect "$code" 60 "inspector: $name" "$node" "$bins/mcp-inspector" --cli "$@"
}
breaks=(--method tools/call --tool-name chaos_inject_fault --tool-args-json '{"fault_name":"f","action":"register","fault_type":"error"}')
for era in legacy modern; do
	for way in stdio http; do
		if [ "$way" = stdio ]; then
			to=("$work/mcpserver" --protocol-era "$era")
		else
			to=("$looking" --transport http --header "Authorization: Bearer $token" --protocol-era "$era")
		fi
		inspect 0 "$way $era tools/list --strict" "${to[@]}" --method tools/list --strict
		inspect 0 "$way $era prompts/list" "${to[@]}" --method prompts/list
		inspect 0 "$way $era resources/list" "${to[@]}" --method resources/list
		inspect 0 "$way $era a call that looks" "${to[@]}" --method tools/call --tool-name chaos_status
		inspect 5 "$way $era a call that writes, in read-only mode" "${to[@]}" "${breaks[@]}" && says read_only "... says why"
		inspect 5 "$way $era wrong arguments" "${to[@]}" --method tools/call --tool-name get_runs --tool-args-json '{"limit":0}' && says invalid_arguments "... says why"
	done
	inspect 0 "http $era a call that writes, in read-write mode" "$open" --transport http --protocol-era "$era" "${breaks[@]}"
	inspect 0 "http $era takes it back" "$open" --transport http --protocol-era "$era" --method tools/call --tool-name chaos_inject_fault \
		--tool-args-json '{"fault_name":"f","action":"remove"}'
	inspect "${UNAUTHORISED:-3}" "http $era without a token" "$looking" --transport http --protocol-era "$era" --stored-auth-only --method tools/list
done

echo "== conformance suite"
for revision in 2025-11-25 2026-07-28; do
	expect 0 300 "conformance $revision, expected failures apart" "$node" "$bins/conformance" server --url "$open" --requirements "$revision" \
		--expected-failures "$here/.ci/mcp-conformance-expected-$revision.yml" -o "$work/conformance-$revision"
	grep -a '^Total:' "$work/step-$steps.log" | sed 's/^/            /'
done

expect 0 1500 "the policy in front of the SDK's fixtures changes no check" "$here/.ci/mcp-policy-conformance.sh" "$work" $((base + 2))
grep -aE '^(bare|policy) |checks compared' "$work/step-$steps.log" | sed 's/^/            /'

echo "== official TypeScript clients, every tool"
cp .ci/mcp-drive.mjs "$work/"
for client in v1 v2-legacy v2-modern; do
	expect 0 120 "$client over stdio" env SHAKEDOWN_MCP_MODE=read-write SHAKEDOWN_MCP_ENABLE_WRITE=true "$node" "$work/mcp-drive.mjs" "$client" stdio "$work/mcpserver"
	tail -n 1 "$work/step-$steps.log" | sed 's/^/            /'
	expect 0 120 "$client over http" "$node" "$work/mcp-drive.mjs" "$client" http "$open"
	tail -n 1 "$work/step-$steps.log" | sed 's/^/            /'
done
expect 0 120 "v1 over sse, as old clients do" "$node" "$work/mcp-drive.mjs" v1 sse "${open%/mcp}/sse"
tail -n 1 "$work/step-$steps.log" | sed 's/^/            /'

echo "mcp-acceptance: $failed failed, $steps steps, $SECONDS s"
[ "$failed" -eq 0 ]
