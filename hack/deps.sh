#!/bin/sh
# Installs optional native parts. Never asks, and never fails: what could not be installed is said, and Sluice works without it.
has_turbo() { ldconfig -p 2>/dev/null | grep -q libturbojpeg || ls /opt/homebrew/lib/libturbojpeg* /usr/local/lib/libturbojpeg* >/dev/null 2>&1; }

if has_turbo; then
	echo "libturbojpeg: already there"
	exit 0
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null; then
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libturbojpeg0 >/dev/null 2>&1
elif command -v dnf >/dev/null; then
	$as_root dnf install -y -q turbojpeg >/dev/null 2>&1
elif command -v apk >/dev/null; then
	$as_root apk add -q libjpeg-turbo >/dev/null 2>&1
elif command -v brew >/dev/null; then
	brew install -q jpeg-turbo >/dev/null 2>&1
fi
if has_turbo; then
	echo "libturbojpeg: installed; JPEG decoding is about three times as fast with it"
else
	echo "libturbojpeg: could not be installed here; Sluice uses Go's own JPEG decoder instead"
fi
exit 0
