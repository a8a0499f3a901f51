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
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/common.sh"
in_folder "${2:-$here/../../.cache/mariadb118}"
shift $(($# < 2 ? $# : 2))
source "$here/debian_sid.sh"

install() { [ -x "$root/usr/sbin/mariadbd" ] || unpack "$dir" mariadb-server-core; }

start() {
  begin "$@"
  shift
  install
  mkdir -p "$dir/data"
  private+=(--basedir="$root/usr" --lc-messages-dir="$root/usr/share/mariadb"
    --character-sets-dir="$root/usr/share/mariadb/charsets" --plugin-dir="$root/usr/lib/mysql/plugin")
  [ -d "$dir/data/mysql" ] || initialise || failed "$dir/init.log"
  (launch "$root" sbin/mariadbd "${private[@]}" "${listening[@]}" --server-id=118 --binlog-row-metadata=FULL \
    --binlog-row-image=FULL "$@") </dev/null >/dev/null 2>&1 &
  await $! says_ready
}

initialise() {
  mkdir "$dir/data/mysql"
  local sql=$root/usr/share/mariadb
  { printf 'USE mysql;\nSET @auth_root_socket=NULL;\n'; cat "$sql/mariadb_system_tables.sql" "$sql/mariadb_performance_tables.sql" \
    "$sql/mariadb_system_tables_data.sql"; } |
    (launch "$root" sbin/mariadbd "${private[@]}" --bootstrap --log-warnings=0 --enforce-storage-engine="") >"$dir/init.log" 2>&1
}

case $verb in
  install) install ;;
  start) start "$@" ;;
  stop) kill "$(cat "$pid_file")" ;;
  *) echo "mariadb118.sh: unknown verb $verb" >&2; exit 2 ;;
esac
