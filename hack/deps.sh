#!/bin/sh
# Installs optional native parts. Never asks, and never fails: what could not be installed is said, and Sluice works without it.
has() { ldconfig -p 2>/dev/null | grep -q "$1" || ls /opt/homebrew/lib/"$1"* /usr/local/lib/"$1"* >/dev/null 2>&1; }

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
updated=""

# part LIBRARY WITH WITHOUT APT DNF APK BREW: packages are lists; the names of some differ between releases, so each is tried by itself.
part() {
	if has "$1"; then
		echo "$1: already there"
		return
	fi
	if command -v apt-get >/dev/null; then
		[ -n "$updated" ] || $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
		updated=yes
		for p in $4; do $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$p" >/dev/null 2>&1; done
	elif command -v dnf >/dev/null; then
		for p in $5; do $as_root dnf install -y -q "$p" >/dev/null 2>&1; done
	elif command -v apk >/dev/null; then
		for p in $6; do $as_root apk add -q "$p" >/dev/null 2>&1; done
	elif command -v brew >/dev/null; then
		brew install -q "$7" >/dev/null 2>&1
	fi
	if has "$1"; then
		echo "$1: installed; $2"
	else
		echo "$1: could not be installed here; $3"
	fi
}

part libturbojpeg "JPEG decoding is about three times as fast with it" "Sluice uses Go's own JPEG decoder instead" \
	libturbojpeg0 turbojpeg libjpeg-turbo jpeg-turbo
part libheif "HEIC is decoded with it" "Sluice decodes AVIF without it, and no HEIC" \
	"libheif1 libheif-plugin-libde265 libheif-plugin-dav1d" libheif libheif libheif
exit 0
