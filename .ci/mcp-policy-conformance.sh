#!/usr/bin/env bash
# Runs the official conformance suite against the fixtures of the Go SDK's own
# conformance server, bare and with mcpadapter/policy in front, and compares: the
# policy must not make a check fail that the bare SDK passes. It needs Go and what
# .ci/mcp-acceptance.sh installs, which runs it; it is no part of go test.
# Usage: .ci/mcp-policy-conformance.sh FOLDER PORT
# FOLDER has the installed node_modules, and receives the fixture program, logs
# and results. It exits with 1 if a check has got worse.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(cd "$1" && pwd)
port=$2
bins=$work/node_modules/.bin
fixture=$work/fixture

server=
finish() { if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; fi; }
trap finish EXIT
trap 'exit 130' INT TERM

# The fixtures are those of the SDK in the module cache. So they are what its authors
# call a conforming server, and there is no copy to maintain.
mkdir -p "$fixture"
sdk=$(cd "$here/mcpadapter" && GOWORK=off go list -m -f '{{.Dir}}' github.com/modelcontextprotocol/go-sdk)
sed 's/^func main() {$/func sdkMain() {/' "$sdk/conformance/everything-server/main.go" >"$fixture/fixtures.go"
cp "$here/.ci/testdata/conformance/main.go" "$fixture/main.go"
cp "$here/go.sum" "$fixture/go.sum"
sed 's|^module .*|module fixture|' "$here/go.mod" >"$fixture/go.mod"
(cd "$fixture" && go mod edit -require=github.com/shakedown-go/shakedown/mcpadapter@v0.0.0 \
	-replace="github.com/shakedown-go/shakedown=$here" -replace="github.com/shakedown-go/shakedown/mcpadapter=$here/mcpadapter" &&
	GOWORK=off go build -mod=mod -o server .)

# run NAME FLAGS... runs the suite against the fixtures; the comparison judges what fails.
run() {
	local name=$1 revision i
	shift
	"$fixture/server" -http "127.0.0.1:$port" "$@" >"$fixture/$name.log" 2>&1 &
	server=$!
	for i in $(seq 100); do
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
		kill -0 "$server" # it may have ended
		sleep 0.1
	done
	for revision in 2025-11-25 2026-07-28; do
		timeout -k 5 300 "$bins/node" "$bins/conformance" server --url "http://127.0.0.1:$port/mcp" --requirements "$revision" \
			-o "$fixture/results/$name/$revision" >"$fixture/$name-$revision.log" 2>&1 </dev/null || true
		echo "$name $revision: $(grep -a '^Total:' "$fixture/$name-$revision.log")"
	done
	kill "$server"
	wait "$server" 2>/dev/null || true
	server=
}

run bare
run policy -policy
if ! grep -aq mcp.tool_call.completed "$fixture/policy.log"; then
	echo "the policy has seen no call"
	exit 1
fi
"$bins/node" "$here/.ci/mcp-conformance-compare.mjs" "$fixture/results/bare" "$fixture/results/policy"
