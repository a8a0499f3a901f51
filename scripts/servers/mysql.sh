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
dir=${2:-$(dirname "${BASH_SOURCE[0]}")/../../.cache/mysql97}
dir=$(mkdir -p "$dir" && cd "$dir" && pwd)
shift $(($# < 2 ? $# : 2))
root=$dir/root
socket=$dir/run/mysql.sock

unavailable() { echo "mysql.sh: $*" >&2; exit 3; }
source "$(dirname "${BASH_SOURCE[0]}")/debian_sid.sh"

install() { [ -x "$root/usr/sbin/mysqld" ] || unpack "$dir" mysql-server-core mysql-client-core; }

start() {
  local port=${1:?PORT}
  shift
  install
  mkdir -p "$dir/run" "$dir/tmp"
  local common=(--no-defaults --basedir="$root/usr" --datadir="$dir/data" --lc-messages-dir="$root/usr/share/mysql"
    --character-sets-dir="$root/usr/share/mysql/charsets" --plugin-dir="$root/usr/lib/mysql/plugin"
    --tmpdir="$dir/tmp" --user="$(id -un)" --mysqlx=OFF --secure-file-priv=)
  # A killed server stays in the process table until its parent looks, and mysqld takes its lock file for a live one's.
  admin ping >/dev/null 2>&1 || rm -f "$socket" "$socket.lock"
  [ -d "$dir/data/mysql" ] || (launch "$root" sbin/mysqld "${common[@]}" --initialize-insecure --log-error="$dir/init.log") ||
    { tail -n 20 "$dir/init.log" >&2; exit 1; }
  (launch "$root" sbin/mysqld "${common[@]}" --port="$port" --bind-address=127.0.0.1 --socket="$socket" \
    --pid-file="$dir/run/mysqld.pid" --log-error="$dir/mysqld.log" --server-id=97 --log-bin="$dir/data/binlog" \
    --gtid-mode=ON --enforce-gtid-consistency=ON --binlog-row-metadata=FULL "$@") </dev/null >/dev/null 2>&1 &
  local server=$!
  for _ in $(seq 300); do
    [ -S "$socket" ] && admin ping >/dev/null 2>&1 && return
    kill -0 $server 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$dir/mysqld.log" >&2
  exit 1
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
