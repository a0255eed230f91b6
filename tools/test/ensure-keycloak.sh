#!/bin/sh
# Fetches the server distribution of Keycloak from the Maven repository that this machine is configured for, and unpacks it
# into node_modules/.cache, since each test has a home directory of its own. It never fails: without Maven or Java the tests
# with Keycloak are skipped with that reason.
cd "$(dirname "$0")" || exit 0
version=$(cat keycloak-version)
cache=../../node_modules/.cache
home="$cache/keycloak-$version"
[ -x "$home/bin/kc.sh" ] && exit 0
for program in java mvn bsdtar; do command -v "$program" >/dev/null 2>&1 || exit 0; done

echo "Fetching Keycloak $version for the tests" >&2
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT
mvn -q dependency:get -Dtransitive=false -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:zip" >"$work/log" 2>&1 &&
  mvn -q dependency:copy -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:zip" -DoutputDirectory="$work" >>"$work/log" 2>&1 &&
  bsdtar -xf "$work/keycloak-quarkus-dist-$version.zip" -C "$work" &&
  chmod +x "$work/keycloak-$version/bin/kc.sh" &&
  mkdir -p "$cache" && mv -T "$work/keycloak-$version" "$home" ||
  echo "Could not fetch Keycloak (its tests are skipped)" >&2
exit 0
