# What the scripts of all servers share; sourced by them.
unavailable() { echo "$(basename "$0"): $*" >&2; exit 3; }

# in_folder DIR: all that one server writes goes there
in_folder() {
  dir=$(mkdir -p "$1" && cd "$1" && pwd)
  root=$dir/root socket=$dir/run/mysql.sock pid_file=$dir/run/server.pid log=$dir/server.log
}

# begin PORT: makes the folders, and the options that every server has: `private` (--no-defaults has to be the first of
# all) and `listening`
begin() {
  mkdir -p "$dir/run" "$dir/tmp"
  [ ! -e "$log" ] || mv "$log" "$log.before" # `says_ready` is about this start
  private=(--no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" --user="$(id -un)")
  listening=(--port="${1:?PORT}" --bind-address=127.0.0.1 --socket="$socket" --pid-file="$pid_file" --log-error="$log"
    --log-bin="$dir/data/binlog" --binlog-format=ROW)
}

# await PID COMMAND...: returns when the command succeeds; ends with exit code 1 when the server is gone, or after a minute
await() {
  local server=$1
  shift
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$log" >&2
  exit 1
}

says_ready() { grep -q "ready for connections" "$log"; }
failed() { tail -n 20 "$1" >&2; exit 1; }
