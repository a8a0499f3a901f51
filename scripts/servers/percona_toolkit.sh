#!/usr/bin/env bash
# pt-online-schema-change, from Debian's own package.
#
#   percona_toolkit.sh install       install the package where the tool is missing: needs Debian and root, else exit code 3
set -euo pipefail
[ "${1:-}" = install ] || { echo "usage: percona_toolkit.sh install" >&2; exit 2; }

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

tool=pt-online-schema-change
command -v $tool >/dev/null && exit
[ -f /etc/debian_version ] && command -v apt-get >/dev/null || unavailable "$tool is not installed, and this is no Debian"
[ "$(id -u)" = 0 ] || unavailable "$tool is not installed; run as root: apt-get install percona-toolkit"
log=$(mktemp)
{ apt-get update -qq || true; } >"$log" 2>&1
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends percona-toolkit >>"$log" 2>&1 </dev/null ||
  unavailable "apt-get install percona-toolkit failed: $(tail -n 1 "$log")"
rm -f "$log"
