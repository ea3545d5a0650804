#!/bin/sh
# Prints the path of a headless browser that tests can drive, installing Debian's when there is none and the machine allows it.
for b in "${SLUICE_BROWSER:-}" chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome; do
	[ -n "$b" ] && p=$(command -v "$b") && { echo "$p"; exit 0; }
done
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	{ apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell fonts-dejavu-core; } >&2 || exit 1
	command -v chromium-headless-shell && exit 0
fi
echo "no browser was found: install Chromium, or name one with SLUICE_BROWSER" >&2
exit 1
