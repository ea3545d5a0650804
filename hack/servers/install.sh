#!/bin/sh
# Installs real model servers for `make test-models`, each into a virtual environment of its own under .cache: triton, mlserver, kserve. What is there already is
# left alone.
set -eu
cd "$(dirname "$0")/../.."
install() { # NAME PACKAGES…
	venv=.cache/server-$1
	shift
	if [ -e "$venv/installed" ] && [ "$(cat "$venv/installed")" = "$*" ]; then
		return
	fi
	echo "installing $* into $venv"
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
	echo "$*" >"$venv/installed"
}
install triton nvidia-pytriton==0.7.0
install mlserver mlserver==1.7.1
install kserve kserve==0.21.0
