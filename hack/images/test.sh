#!/bin/sh
# Decodes the pictures of tests and those of govips with ours and with Pillow, and compares them. Nothing fetched is kept in the repository.
set -eu
GO=${GO:-go}
venv=.cache/images
if [ ! -e "$venv/ready" ] || [ hack/images/requirements.txt -nt "$venv/ready" ]; then
	python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r hack/images/requirements.txt
	touch "$venv/ready"
fi
# From outside of a module, so that it is no dependency of ours.
corpus=$(cd / && "$GO" mod download -json github.com/davidbyttow/govips/v2@v2.16.0 | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')/resources
SLUICE_CORPUS="$corpus" SLUICE_PILLOW="$(pwd)/$venv/bin/python" "$GO" test -tags corpus -count=1 -v -run TestCorpus ./operators/media/internal/imaging
