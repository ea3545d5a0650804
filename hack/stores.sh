#!/bin/sh
# Installs real servers of object stores for `make test-objects` into .cache: versitygw (S3), fake-gcs-server (Google Cloud Storage), both built from source, and
# Azurite (Azure), which needs Node.js. What is there already is left alone.
set -eu
cd "$(dirname "$0")/.."
bin=$(pwd)/.cache/bin
gobuild() { # PROGRAM MODULE@VERSION
	if [ ! -x "$bin/$1" ] || [ "$(cat "$bin/$1.version" 2>/dev/null)" != "$2" ]; then
		echo "building $2"
		GOBIN=$bin "${GO:-go}" install "$2"
		echo "$2" >"$bin/$1.version"
	fi
}
gobuild versitygw github.com/versity/versitygw/cmd/versitygw@v1.8.0
gobuild fake-gcs-server github.com/fsouza/fake-gcs-server@v1.56.1
azurite=azurite@3.35.0
if [ "$(cat .cache/azurite/version 2>/dev/null)" != "$azurite" ]; then
	command -v npm >/dev/null || {
		echo "make test-objects needs Node.js and npm for the server of az://: install nodejs and npm"
		exit 1
	}
	echo "installing $azurite"
	rm -rf .cache/azurite
	mkdir -p .cache/azurite
	npm install --silent --no-fund --no-audit --ignore-scripts --prefix .cache/azurite "$azurite" >/dev/null
	echo "$azurite" >.cache/azurite/version
fi
