#!/usr/bin/env bash
# A private, real MariaDB for tests and benchmarks, from Debian's own package. The system's service is never started.
#
#   mariadb.sh install               install the package where mariadbd is missing: needs Debian and root, else exit code 3
#   mariadb.sh start DIR PORT [..]   initialise DIR once and start the server on 127.0.0.1:PORT, socket DIR/run/mysql.sock;
#                                    further arguments go to mariadbd. root has an empty password.
#   mariadb.sh stop DIR              stop the server of DIR
#   mariadb.sh client DIR [..]       the client on that socket
set -euo pipefail
PATH=$PATH:/usr/sbin
verb=${1:?usage: mariadb.sh install|start|stop|client [DIR] ...}
shift

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install() {
  command -v mariadbd >/dev/null && return
  local policy=/usr/sbin/policy-rc.d log
  [ -f /etc/debian_version ] && command -v apt-get >/dev/null || unavailable "mariadbd is not installed, and this is no Debian"
  [ "$(id -u)" = 0 ] || unavailable "mariadbd is not installed; run as root: apt-get install mariadb-server"
  log=$(mktemp)
  if [ ! -e $policy ]; then # keeps the package from starting the system's service
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
  fi
  { apt-get update -qq || true; } >"$log" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mariadb-server mariadb-client \
    >>"$log" 2>&1 </dev/null || unavailable "apt-get install mariadb-server failed: $(tail -n 1 "$log")"
  rm -f "$log"
}

start() {
  begin "$@"
  shift
  [ -d "$dir/data/mysql" ] || initialise || failed "$dir/init.log"
  mariadbd "${private[@]}" "${listening[@]}" --server-id=10 --binlog-row-metadata=FULL --binlog-row-image=FULL "$@" \
    </dev/null >/dev/null 2>&1 &
  await $! admin ping
}

initialise() {
  mariadb-install-db "${private[@]}" --auth-root-authentication-method=normal --skip-test-db >"$dir/init.log" 2>&1
}

admin() { mariadb-admin --no-defaults -uroot --socket="$socket" "$@"; }

if [ "$verb" = install ]; then install; exit; fi
in_folder "${1:?DIR}"
shift
case $verb in
  start) start "$@" ;;
  stop) admin shutdown ;;
  client) exec mariadb --no-defaults -uroot --socket="$socket" "$@" ;;
  *) echo "mariadb.sh: unknown verb $verb" >&2; exit 2 ;;
esac
