# Programs of Debian's unstable suite beside the system: sourced by the scripts of servers that the stable suite lacks.
# They need a newer C library, so they are unpacked into a folder with all they need and started through their own
# dynamic loader. They come from the archive that apt already uses.
#
#   unpack DIR PACKAGE...    unpack the packages and what they depend on into DIR/root; calls `unavailable` with a reason
#                            where that is impossible
#   launch ROOT PROGRAM ...  run ROOT/usr/PROGRAM
archive() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | awk 'NR == 1'; }

unpack() {
  local dir=$1 root=$1/root apt=$1/apt keys uri log=$1/install.log
  shift
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable "it comes from Debian's archive, and this is no Debian"
  [ "$(id -u)" = 0 ] || unavailable "unpacking from Debian's archive needs root"
  keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -n 1)
  uri=$(archive)
  [ -n "$uri" ] || { apt-get update -qq >"$log" 2>&1 || true; uri=$(archive); }
  [ -n "$uri" ] && [ -n "$keys" ] || unavailable "it comes from Debian's archive, and apt knows none on this machine"

  rm -rf "$apt" "$root.part"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status"
  echo "deb [signed-by=$keys] $uri sid main" >"$apt/sources.list"
  local options=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$apt/lists"
    -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Install-Recommends=false
    -o APT::Sandbox::User=root -o Debug::NoLocking=1 -q)
  { apt-get "${options[@]}" update && apt-get "${options[@]}" -y --download-only install "$@"; } \
    >"$log" 2>&1 </dev/null || unavailable "the archive did not give $1: $(tail -n 1 "$log")"
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root.part"; done
  rm -rf "$apt"
  mv "$root.part" "$root"
}

launch() {
  local root=$1 program=$2 lib
  shift 2
  lib=$(echo "$root"/usr/lib/*-linux-gnu)
  exec "$(echo "$lib"/ld-linux-*.so.*)" --library-path "$lib:$root/usr/lib/mysql/private" "$root/usr/$program" "$@"
}
