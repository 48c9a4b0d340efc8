#!/usr/bin/env bash
# Checks examples/mcpserver/deploy without a container engine or a cluster: the
# binary runs alone in an empty folder as nobody, the Dockerfile passes a linter,
# and Compose and the chart have the safe settings that their documentation states.
# Usage: .ci/deploy-check.sh
# Needs Go, curl, Node and the npm registry; helm 3 from the path, or else from the Go proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
deploy=examples/mcpserver/deploy

work=$(mktemp -d)
server=""
finish() {
	[ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
ok() { printf 'ok    %s\n' "$1"; }

export npm_config_cache="$work/cache" npm_config_update_notifier=false
timeout 300 npm install --prefix "$work" --no-audit --no-fund --loglevel error dockerfilelint@1.8.0 yaml@2.8.1 >"$work/npm.log" 2>&1 || { cat "$work/npm.log"; exit 1; }

# A layer of the image has no more files than the COPY lines above it name.
mkdir "$work/layer"
sed -n '/^COPY \. \./q; s/^COPY //p' "$deploy/Dockerfile" | while read -r line; do
	files=(${line% *})
	mkdir -p "$work/layer/${line##* }"
	cp "${files[@]}" "$work/layer/${line##* }"
done
(cd "$work/layer/examples" && GOWORK=off timeout 300 go mod download)
ok "the modules can be downloaded with the files that the Dockerfile has copied by then"

mkdir "$work/image"
(cd examples && CGO_ENABLED=0 GOWORK=off timeout 600 go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$work/image/mcpserver" ./mcpserver)
go version -m "$work/image/mcpserver" | grep -q 'CGO_ENABLED=0'
ok "the binary builds as in the Dockerfile, without cgo"

chmod 755 "$work" "$work/image"
if [ "$(id -u)" = 0 ]; then
	alone=("$(command -v chroot)" --userspec=65532:65532 "$work/image" /mcpserver)
else
	alone=("$work/image/mcpserver")
fi
if timeout 10 env -i "${alone[@]}" --http 0.0.0.0:17490 >"$work/without.log" 2>&1; then
	echo "without a token it started" && exit 1
fi
grep -qi token "$work/without.log"
ok "without a token it does not start: $(tail -n 1 "$work/without.log" | cut -c 1-120)"
env -i SHAKEDOWN_MCP_TOKEN=a-token-for-the-check SHAKEDOWN_MCP_MODE=read-only SHAKEDOWN_MCP_ENABLE_WRITE=false \
	"${alone[@]}" --http 0.0.0.0:17490 --tokens-in-clear-beyond-loopback >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do curl -fs http://127.0.0.1:17490/healthz >/dev/null && break || sleep 0.1; done
[ "$(curl -s http://127.0.0.1:17490/healthz)" = ok ]
[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:17490/mcp)" = 401 ]
[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' http://127.0.0.1:17490/healthz)" = 403 ]
kill "$server" && wait "$server" && server=""
ok "alone in its root folder as user 65532 it serves, wants a token and its own name, and ends on SIGTERM"

timeout 60 "$work/node_modules/.bin/dockerfilelint" "$deploy/Dockerfile" >"$work/lint.log" || { cat "$work/lint.log"; exit 1; }
ok "dockerfilelint has nothing to say of the Dockerfile"

if command -v helm >/dev/null && helm version --short | grep -q '^v3'; then
	chart() { timeout 60 helm "$@"; }
else
	mkdir "$work/bin"
	GOWORK=off GOFLAGS=-mod=mod GOBIN="$work/bin" timeout 1500 go install -ldflags="-s -w" helm.sh/helm/v3/cmd/helm@v3.18.6
	chart() { timeout 60 "$work/bin/helm" "$@"; }
fi
chart lint --strict "$deploy/chart" --set token.existingSecret=desk-token
chart template desk "$deploy/chart" --namespace shop --set token.existingSecret=desk-token >"$work/chart.yaml"
for wrong in "mode=read-only" "token.existingSecret=s,mode=write" "token.existingSecret=s,mode=read-write" "token.existingSecret=s,tokens=1"; do
	if chart template desk "$deploy/chart" --set "$wrong" >/dev/null 2>"$work/refused.log"; then
		echo "the chart takes $wrong" && exit 1
	fi
done
chart template desk "$deploy/chart" --set token.existingSecret=s,mode=read-write,enableWrite=true >/dev/null
ok "helm $(chart version --short) lints and renders the chart, and refuses it without a secret, with wrong values, or half enabled"

cp .ci/deploy-check.mjs "$work/"
timeout 60 node "$work/deploy-check.mjs" "$work/chart.yaml" "$deploy/compose.yaml"
ok "all checks of the deployment passed"
