#!/usr/bin/env bash
# The servers' own test files from Debian's archive: fetch_server_tests.sh mysql|mariadb DIR
# MariaDB's come from the suite that apt uses, MySQL's from unstable, as scripts/servers/mysql.sh gets the server.
set -euo pipefail
flavor=${1:?mysql or mariadb} dir=${2:?folder}
work=$dir.part
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/tests"
cd "$work"
if [ "$flavor" = mariadb ]; then
  apt-get -o APT::Sandbox::User=root -q download mariadb-test-data
else
  keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -n 1)
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | awk 'NR == 1')
  : >apt/status
  echo "deb [signed-by=$keys] $uri sid main" >apt/sources.list
  options=(-o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/apt/lists"
    -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root
    -o Debug::NoLocking=1 -q)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" download mysql-testsuite
fi >&2
dpkg-deb --fsys-tarfile ./*.deb | tar -x -C tests --wildcards '*.test'
mv tests "$dir"
rm -rf "$work"
