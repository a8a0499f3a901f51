#!/usr/bin/env bash
# A private, real MySQL for tests and benchmarks, unpacked into a folder: nothing is installed on the system.
#
#   mysql.sh install [DIR]           unpack the server under DIR (default: .cache/mysql97 of the checkout); once, then quick.
#                                    Where Debian's packages cannot be had: exit code 3
#   mysql.sh start DIR PORT [..]     initialise DIR once and start the server on 127.0.0.1:PORT, socket DIR/run/mysql.sock;
#                                    further arguments go to mysqld. root has an empty password.
#   mysql.sh stop DIR                stop the server of DIR
#   mysql.sh client DIR [..]         the mysql client on that socket
#   mysql.sh mysqlbinlog DIR [..]    the matching mysqlbinlog
#
# Several servers can share one unpacked folder: make DIR/root a link to it.
# Debian stable has MariaDB only, so MySQL comes from the unstable suite: debian_sid.sh.
set -euo pipefail
verb=${1:?usage: mysql.sh install|start|stop|client|mysqlbinlog DIR ...}
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/common.sh"
in_folder "${2:-$here/../../.cache/mysql97}"
shift $(($# < 2 ? $# : 2))
source "$here/debian_sid.sh"

install() { [ -x "$root/usr/sbin/mysqld" ] || unpack "$dir" mysql-server-core mysql-client-core; }

start() {
  begin "$@"
  shift
  install
  private+=(--basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" --mysqlx=OFF --secure-file-priv=
    --character-sets-dir="$root/usr/share/mysql/charsets" --plugin-dir="$root/usr/lib/mysql/plugin")
  # A killed server stays in the process table until its parent looks, and mysqld takes its lock file for a live one's.
  admin ping >/dev/null 2>&1 || rm -f "$socket" "$socket.lock"
  local option fixed=() # what a server keeps from its first start on
  for option in "$@"; do [[ $option != --lower-case-table-names=* ]] || fixed+=("$option"); done
  [ -d "$dir/data/mysql" ] ||
    (launch "$root" sbin/mysqld "${private[@]}" "${fixed[@]}" --initialize-insecure --log-error="$dir/init.log") ||
    failed "$dir/init.log"
  (launch "$root" sbin/mysqld "${private[@]}" "${listening[@]}" --server-id=97 --gtid-mode=ON \
    --enforce-gtid-consistency=ON --binlog-row-metadata=FULL "$@") </dev/null >/dev/null 2>&1 &
  await $! admin ping
}

admin() { (launch "$root" bin/mysqladmin --no-defaults -uroot --socket="$socket" "$@"); }

case $verb in
  install) install ;;
  start) start "$@" ;;
  stop) admin shutdown ;;
  client) launch "$root" bin/mysql --no-defaults -uroot --socket="$socket" "$@" ;;
  mysqlbinlog) launch "$root" bin/mysqlbinlog --no-defaults "$@" ;;
  *) echo "mysql.sh: unknown verb $verb" >&2; exit 2 ;;
esac
