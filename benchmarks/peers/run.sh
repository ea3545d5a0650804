#!/bin/sh
# make bench-peers: installs the peers beside the project, makes the inputs, and compares. Sizes: SCALE=1 is the full set.
set -e
cd "$(dirname "$0")/../.."
dir=${BENCH_DIR:-.cache/bench}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ -x "$dir/venv/bin/python" ] || python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
py="$dir/venv/bin/python"
if [ ! -d "$dir/data/parquet" ]; then
	"$py" benchmarks/peers/gen.py "$dir/data" "$("$py" -c 'import os, skimage; print(os.path.join(os.path.dirname(skimage.__file__), "data"))')" "${SCALE:-1}"
fi
"$py" benchmarks/peers/compare.py bin/sluice "$dir/data" "$dir/out" --runs "${RUNS:-5}" ${ONLY:+--only "$ONLY"}
