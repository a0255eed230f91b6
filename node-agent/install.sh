#!/bin/sh
# Installs or updates the node agent on a host. Run as root; running it again changes nothing.
#
#   install.sh --bundle gpuaas-node-agent.mjs --node-api-url https://nodes.example:8443 \
#              --ca-sha256 <fingerprint> [--token-file FILE | --token-file -]
#
#   --bundle FILE         agent bundle; verified against FILE.sha256 if that file exists
#   --sha256 HEX          expected digest of the bundle
#   --node-api-url URL    address of the node API
#   --ca-sha256 HEX       fingerprint of the control plane's root certificate, which the agent trusts first
#   --token-file FILE     enroll with the token in FILE (mode 0600); - asks for it or reads standard input;
#                         without it enroll later. A token is never an argument: every process could read it
#   --node FILE           Node.js 24 or newer (default: node on the PATH)
#   --prefix DIR          install below DIR (default /)
#   --no-systemd          do not install or start the service
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
bundle= sha256= url= ca= token_file= node= prefix= systemd=yes
while [ $# -gt 0 ]; do
  case $1 in
    --token | --token=* | *gpe_*)
      fail "the token was passed as an argument, where other processes can read it; nothing was installed. Replace it (gpuaas admin node enroll <node>) and pass the new one with --token-file FILE or --token-file -" ;;
    --bundle | --sha256 | --node-api-url | --ca-sha256 | --token-file | --node | --prefix)
      [ $# -ge 2 ] || fail "$1 needs a value"
      case $1 in
        --bundle) bundle=$2 ;;
        --sha256) sha256=${2#sha256:} ;;
        --node-api-url) url=$2 ;;
        --ca-sha256) ca=$2 ;;
        --token-file) token_file=$2 ;;
        --node) node=$2 ;;
        --prefix) prefix=${2%/} ;;
      esac
      shift 2
      ;;
    --no-systemd) systemd=no; shift ;;
    --help) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "unknown option $1" ;;
  esac
done

# --- arguments ---
[ -n "$bundle" ] || bundle=$here/gpuaas-node-agent.mjs
[ -f "$bundle" ] || fail "no bundle at $bundle; specify --bundle"
[ -f "$here/launch.sh" ] || fail "launch.sh is missing beside install.sh"
[ -n "$node" ] || node=$(command -v node) || fail "Node.js 24 or newer is required; specify --node"
case $node in /*) ;; *) node=$(cd "$(dirname "$node")" && pwd)/$(basename "$node") ;; esac
major=$("$node" -p 'process.versions.node.split(".")[0]' 2>/dev/null) || fail "$node cannot be executed"
[ "$major" -ge 24 ] || fail "Node.js 24 or newer is required; $node is version $major"
case $url in '' | https://*) ;; *) fail "--node-api-url must begin with https://" ;; esac

digest=$(sha256sum "$bundle" | cut -d' ' -f1)
[ -n "$sha256" ] || { [ -f "$bundle.sha256" ] && sha256=$(cut -d' ' -f1 <"$bundle.sha256"); } || sha256=$digest
[ "$digest" = "$sha256" ] || fail "bundle digest is $digest, expected $sha256; nothing was installed"

# --- files ---
home=$prefix/opt/gpuaas/node-agent
state=$prefix/var/lib/gpuaas/node-agent
etc=$prefix/etc/gpuaas
env_file=$etc/node-agent.env

mkdir -p "$home/bin" "$home/versions" "$home/update" "$etc" "$prefix/usr/local/bin"
mkdir -p "$state"
chmod 700 "$state"

# Replaces a file atomically, only if it differs.
put() {
  if ! cmp -s "$1" "$2"; then
    cp "$1" "$2.new"
    chmod "$3" "$2.new"
    mv -f "$2.new" "$2"
  fi
}

mkdir -p "$home/versions/$digest"
put "$bundle" "$home/versions/$digest/gpuaas-node-agent.mjs" 644
put "$here/launch.sh" "$home/bin/gpuaas-node-agent" 755
if [ "$(readlink "$home/current" 2>/dev/null || true)" != "versions/$digest" ]; then
  rm -f "$home/current.new" "$home/update/pending" "$home/update/starts"
  ln -s "versions/$digest" "$home/current.new"
  mv -Tf "$home/current.new" "$home/current"
fi
ln -sfn "$node" "$home/bin/node"
ln -sfn "$home/bin/gpuaas-node-agent" "$prefix/usr/local/bin/gpuaas-node-agent"

# Keeps settings that were edited and sets those given as arguments.
set_variable() {
  if [ -z "$2" ] || grep -qxF "$1=$2" "$env_file"; then return 0; fi
  grep -v "^$1=" "$env_file" >"$env_file.new" || true
  printf '%s=%s\n' "$1" "$2" >>"$env_file.new"
  mv -f "$env_file.new" "$env_file"
}
[ -f "$env_file" ] || : >"$env_file"
set_variable GPUAAS_NODE_API_URL "$url"
set_variable GPUAAS_NODE_CA_SHA256 "$ca"
set_variable GPUAAS_NODE_STATE_DIR "$state"
chmod 644 "$env_file"

# --- enrollment: only the agent reads the token, so that no argument or variable of a process holds it ---
if [ -n "$token_file" ]; then
  "$home/bin/gpuaas-node-agent" enroll --env-file "$env_file" --token-file "$token_file"
fi

# --- service ---
if [ "$systemd" = yes ]; then
  unit=
  for place in "$here/gpuaas-node-agent.service" "$here/../infra/systemd/gpuaas-node-agent.service"; do
    if [ -z "$unit" ] && [ -f "$place" ]; then unit=$place; fi
  done
  [ -n "$unit" ] || fail "gpuaas-node-agent.service is missing beside install.sh"
  mkdir -p "$prefix/etc/systemd/system"
  put "$unit" "$prefix/etc/systemd/system/gpuaas-node-agent.service" 644
  systemctl daemon-reload
  systemctl enable gpuaas-node-agent.service
  if [ -f "$state/identity.json" ]; then systemctl restart gpuaas-node-agent.service; fi
fi

if [ -f "$state/identity.json" ]; then
  echo "gpuaas-node-agent $digest is installed and enrolled."
else
  echo "gpuaas-node-agent $digest is installed. Enroll it: gpuaas-node-agent enroll --token-file FILE"
fi
