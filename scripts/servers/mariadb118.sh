#!/usr/bin/env bash
# A private, real MariaDB of the newest series that Debian's unstable suite has (11.8), for tests of its log: since 11.4
# the events inside a transaction do not say where they end. Nothing is installed on the system; see debian_sid.sh.
#
#   mariadb118.sh install [DIR]        unpack the server under DIR (default: .cache/mariadb118 of the checkout); once, then
#                                      quick. Where Debian's packages cannot be had: exit code 3
#   mariadb118.sh start DIR PORT [..]  initialise DIR once and start the server on 127.0.0.1:PORT, socket
#                                      DIR/run/mysql.sock; further arguments go to mariadbd. root has an empty password.
#   mariadb118.sh stop DIR             stop the server of DIR
#
# Several servers can share one unpacked folder: make DIR/root a link to it.
set -euo pipefail
verb=${1:?usage: mariadb118.sh install|start|stop DIR ...}
dir=${2:-$(dirname "${BASH_SOURCE[0]}")/../../.cache/mariadb118}
dir=$(mkdir -p "$dir" && cd "$dir" && pwd)
shift $(($# < 2 ? $# : 2))
root=$dir/root
pid_file=$dir/run/mariadbd.pid

unavailable() { echo "mariadb118.sh: $*" >&2; exit 3; }
source "$(dirname "${BASH_SOURCE[0]}")/debian_sid.sh"

install() { [ -x "$root/usr/sbin/mariadbd" ] || unpack "$dir" mariadb-server-core; }

start() {
  local port=${1:?PORT}
  shift
  install
  mkdir -p "$dir/run" "$dir/tmp" "$dir/data"
  local common=(--no-defaults --basedir="$root/usr" --datadir="$dir/data" --lc-messages-dir="$root/usr/share/mariadb"
    --character-sets-dir="$root/usr/share/mariadb/charsets" --plugin-dir="$root/usr/lib/mysql/plugin"
    --tmpdir="$dir/tmp" --user="$(id -un)")
  [ -d "$dir/data/mysql" ] || initialise || { tail -n 20 "$dir/init.log" >&2; exit 1; }
  (launch "$root" sbin/mariadbd "${common[@]}" --port="$port" --bind-address=127.0.0.1 --socket="$dir/run/mysql.sock" \
    --pid-file="$pid_file" --log-error="$dir/mariadbd.log" --server-id=118 --log-bin="$dir/data/binlog" \
    --binlog-format=ROW --binlog-row-metadata=FULL --binlog-row-image=FULL "$@") </dev/null >/dev/null 2>&1 &
  local server=$!
  for _ in $(seq 300); do
    grep -q "ready for connections" "$dir/mariadbd.log" 2>/dev/null && return
    kill -0 $server 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$dir/mariadbd.log" >&2
  exit 1
}

initialise() {
  mkdir "$dir/data/mysql"
  local sql=$root/usr/share/mariadb
  { printf 'USE mysql;\nSET @auth_root_socket=NULL;\n'; cat "$sql/mariadb_system_tables.sql" "$sql/mariadb_performance_tables.sql" \
    "$sql/mariadb_system_tables_data.sql"; } |
    (launch "$root" sbin/mariadbd "${common[@]}" --bootstrap --log-warnings=0 --enforce-storage-engine="") >"$dir/init.log" 2>&1
}

case $verb in
  install) install ;;
  start) start "$@" ;;
  stop) kill "$(cat "$pid_file")" ;;
  *) echo "mariadb118.sh: unknown verb $verb" >&2; exit 2 ;;
esac
