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

unavailable() { echo "mariadb.sh: $*" >&2; exit 3; }

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
  local port=${1:?PORT}
  shift
  mkdir -p "$dir/run" "$dir/tmp"
  local common=(--no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" --user="$(id -un)")
  [ -d "$dir/data/mysql" ] ||
    mariadb-install-db "${common[@]}" --auth-root-authentication-method=normal --skip-test-db >"$dir/init.log" 2>&1 ||
    { tail -n 20 "$dir/init.log" >&2; exit 1; }
  mariadbd "${common[@]}" --port="$port" --bind-address=127.0.0.1 --socket="$socket" --pid-file="$dir/run/mariadbd.pid" \
    --log-error="$dir/mariadbd.log" --server-id=10 --log-bin="$dir/data/binlog" --binlog-format=ROW \
    --binlog-row-metadata=FULL --binlog-row-image=FULL "$@" </dev/null >/dev/null 2>&1 &
  local server=$!
  for _ in $(seq 300); do
    admin ping >/dev/null 2>&1 && return
    kill -0 $server 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$dir/mariadbd.log" >&2
  exit 1
}

admin() { mariadb-admin --no-defaults -uroot --socket="$socket" "$@"; }

if [ "$verb" = install ]; then install; exit; fi
dir=$(mkdir -p "${1:?DIR}" && cd "$1" && pwd)
socket=$dir/run/mysql.sock
shift
case $verb in
  start) start "$@" ;;
  stop) admin shutdown ;;
  client) exec mariadb --no-defaults -uroot --socket="$socket" "$@" ;;
  *) echo "mariadb.sh: unknown verb $verb" >&2; exit 2 ;;
esac
