#!/usr/bin/env bash
# Runs one agent on one incident:
#
#   run-agent.sh --workspace D --model M --allowed-tools T --timeout S [--agent A] [--system-prompt-file F] PROMPT
#
# AGENT_CLI says which: claude, codex, goose or gemini. Without AGENT_CONTAINER_IMAGE
# the agent has to be installed here; with it (an image made from the Dockerfile
# beside this script) it runs there, with the workspace DIRECTORY mounted. Mounted
# files would not do: a record is replaced by renaming, so the mount would still
# show the old one, and output/ would be lost.
#
# K8S_CLUSTER_MCP_ENDPOINT and MCP_TOKEN are the server that the agent can ask. Its
# report is output/investigation.md in the workspace. The exit status is that of the
# agent, 124 when the time is up, 2 for wrong arguments, and 127 when the agent is
# not installed.
set -euo pipefail

fail() {
  printf 'run-agent: %s\n' "$2" >&2
  exit "$1"
}

workspace="" model="" tools="" timeout=300 agent="" system_file="" prompt=""
while (($#)); do
  case $1 in
    --workspace | --model | --allowed-tools | --timeout | --agent | --system-prompt-file)
      (($# > 1)) || fail 2 "$1 needs a value"
      case $1 in
        --workspace) workspace=$2 ;;
        --model) model=$2 ;;
        --allowed-tools) tools=$2 ;;
        --timeout) timeout=$2 ;;
        --agent) agent=$2 ;;
        --system-prompt-file) system_file=$2 ;;
      esac
      shift 2
      ;;
    --*) fail 2 "unknown flag $1" ;;
    *)
      [[ -z $prompt ]] || fail 2 "unexpected argument $1"
      prompt=$1
      shift
      ;;
  esac
done
[[ -n $prompt ]] || fail 2 "the prompt is missing"
[[ -d $workspace ]] || fail 2 "--workspace is \"$workspace\"; allowed: a directory"
[[ $timeout =~ ^[1-9][0-9]*$ ]] || fail 2 "--timeout is \"$timeout\"; allowed: seconds"
[[ -z $system_file || -r $system_file ]] || fail 2 "--system-prompt-file is \"$system_file\"; allowed: a file that can be read"

cli=${AGENT_CLI:-claude}
case $cli in
  claude | codex | goose | gemini) ;;
  *) fail 2 "AGENT_CLI is \"$cli\"; allowed: claude, codex, goose, gemini" ;;
esac

# In a container: the same script again, with the paths of the container. A signal
# to this script does not reach the container. There the time-out below ends the
# agent, a minute before the runner would kill this script.
if [[ -n ${AGENT_CONTAINER_IMAGE:-} ]]; then
  engine=${CONTAINER_ENGINE:-docker}
  command -v "$engine" >/dev/null || fail 127 "$engine is not installed"
  run=("$engine" run --rm --init --network host --user "$(id -u):$(id -g)"
    --name "triage-${INCIDENT_ID:-$$}"
    --mount "type=bind,source=$workspace,target=/workspace"
    --env AGENT_CLI --env INCIDENT_ID --env K8S_CLUSTER_MCP_ENDPOINT --env MCP_TOKEN
    --env ANTHROPIC_API_KEY --env OPENAI_API_KEY --env GEMINI_API_KEY --env GOOGLE_API_KEY
    --env GOOSE_PROVIDER --env GOOSE_MODEL --env HOME=/tmp)
  inside=(--workspace /workspace --model "$model" --allowed-tools "$tools" --timeout "$timeout")
  [[ -z $agent ]] || inside+=(--agent "$agent")
  if [[ -n $system_file ]]; then
    run+=(--mount "type=bind,source=$system_file,target=/system-prompt.md,readonly")
    inside+=(--system-prompt-file /system-prompt.md)
  fi
  # A runner that was killed leaves its container, under the name that this attempt needs.
  "$engine" rm --force "triage-${INCIDENT_ID:-$$}" >/dev/null 2>&1 || true
  exec "${run[@]}" "$AGENT_CONTAINER_IMAGE" "${inside[@]}" "$prompt"
fi

command -v "$cli" >/dev/null || fail 127 "$cli is not installed"
cd "$workspace"
mkdir -p output
system=""
[[ -z $system_file ]] || system=$(<"$system_file")

# Settings of the agents hold the token: they are kept out of the workspace and
# out of the command line, and removed in the end.
settings=$(mktemp -d)
trap 'rm -rf "$settings"' EXIT
umask 077

json() { # a text as a JSON string
  local s=${1//\\/\\\\}
  s=${s//\"/\\\"}
  s=${s//$'\n'/\\n}
  s=${s//$'\t'/\\t}
  printf '"%s"' "${s//$'\r'/}"
}

endpoint=${K8S_CLUSTER_MCP_ENDPOINT:-}
headers="{\"Authorization\":$(json "Bearer ${MCP_TOKEN:-}")}"

# The settings of each agent for the server, which is called cluster:
case $cli in
  claude)
    servers="{}"
    [[ -z $endpoint ]] || servers="{\"cluster\":{\"type\":\"http\",\"url\":$(json "$endpoint"),\"headers\":$headers}}"
    printf '{"mcpServers":%s}' "$servers" >"$settings/mcp.json"
    command=(claude -p --model "$model" --allowedTools "$tools,mcp__cluster" --mcp-config "$settings/mcp.json" --strict-mcp-config)
    [[ -z $system ]] || command+=(--append-system-prompt "$system")
    [[ -z $agent ]] || command+=(--agent "$agent")
    command+=(-- "$prompt")
    ;;
  codex)
    command=(codex exec --skip-git-repo-check --sandbox workspace-write --cd "$workspace" --model "$model")
    if [[ -n $endpoint ]]; then
      command+=(-c "mcp_servers.cluster.url=$(json "$endpoint")" -c 'mcp_servers.cluster.bearer_token_env_var="MCP_TOKEN"')
    fi
    command+=(-- "${system:+$system$'\n\n'}$prompt")
    ;;
  gemini)
    servers="{}"
    [[ -z $endpoint ]] || servers="{\"cluster\":{\"httpUrl\":$(json "$endpoint"),\"headers\":$headers}}"
    printf '{"mcpServers":%s}' "$servers" >"$settings/settings.json"
    export GEMINI_CLI_SYSTEM_SETTINGS_PATH=$settings/settings.json
    command=(gemini --model "$model" --yolo --prompt "${system:+$system$'\n\n'}$prompt")
    ;;
  goose) # only a recipe can have headers
    extensions='{"type":"builtin","name":"developer"}'
    [[ -z $endpoint ]] || extensions+=",{\"type\":\"streamable_http\",\"name\":\"cluster\",\"uri\":$(json "$endpoint"),\"headers\":$headers}"
    printf '{"version":"1.0.0","title":"Triage","description":"Investigates an incident","instructions":%s,"prompt":%s,"extensions":[%s]}' \
      "$(json "${system:-You investigate an incident.}")" "$(json "$prompt")" "$extensions" >"$settings/recipe.json"
    export GOOSE_MODE=auto GOOSE_MODEL=${GOOSE_MODEL:-$model}
    command=(goose run --no-session --recipe "$settings/recipe.json")
    ;;
esac

limit=()
if command -v timeout >/dev/null; then
  limit=(timeout --kill-after=10 "$timeout")
fi
# Standard input is closed: an agent that asks would wait for ever.
${limit[@]+"${limit[@]}"} "${command[@]}" </dev/null
