#!/bin/sh
# Prints the members of groups of Keycloak as they are now, for `gpuaas admin group sync --file`.
#
#   kcadm.sh config credentials --server https://login.example.com --realm master --user admin
#   export-members.sh https://login.example.com/realms/gpuaas research viewers > members.json
#
# The first argument is the issuer (GPUAAS_OIDC_ISSUER), the others are the paths of all mapped groups, such as research or
# research/leads. The groups claim of the realm of the recipe carries the last part of a path; with FULL_PATH=true, as the
# mapper option of that name, the whole path. Users who are disabled in Keycloak are left out. Nothing is printed unless all
# was read. KCADM and KCADM_CONFIG name the program and its configuration.
set -euf

[ $# -ge 2 ] || { echo "usage: $0 <issuer> <group path>..." >&2; exit 2; }
issuer=${1%/}
shift
realm=${issuer##*/}
kcadm=${KCADM:-kcadm.sh}
config=${KCADM_CONFIG:-$HOME/.keycloak/kcadm.config}
page=500

get() { "$kcadm" get "$@" --config "$config" -r "$realm" --format csv --noquotes; }
quoted() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }

exported_at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
groups=
for path in "$@"; do
  path=${path#/}
  id=$(get "group-by-path/$path" --fields id)
  [ -n "$id" ] || { echo "The group $path has no ID." >&2; exit 1; }
  members=
  first=0
  while :; do
    rows=$(get "groups/$id/members" --fields id,enabled -q "first=$first" -q "max=$page")
    count=$(printf '%s' "$rows" | grep -c . || true)
    for row in $rows; do
      case $row in *,true) members="$members${members:+, }$(quoted "${row%,true}")" ;; esac
    done
    [ "$count" -eq "$page" ] || break
    first=$((first + page))
  done
  if [ "${FULL_PATH:-false}" = true ]; then name=/$path; else name=${path##*/}; fi
  groups="$groups${groups:+,
    }$(quoted "$name"): [$members]"
done
printf '{\n  "issuer": %s,\n  "exported_at": "%s",\n  "groups": {\n    %s\n  }\n}\n' "$(quoted "$issuer")" "$exported_at" "$groups"
