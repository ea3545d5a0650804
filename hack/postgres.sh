#!/bin/sh
# Prints the folder of a PostgreSQL server (initdb, postgres), installing one where the system's package manager can.
set -eu

find_bin() {
	for d in "${SLUICE_POSTGRES:-}" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin /opt/homebrew/opt/postgresql*/bin; do
		if [ -n "$d" ] && [ -x "$d/initdb" ] && [ -x "$d/postgres" ]; then
			printf '%s\n' "$d"
			return 0
		fi
	done
	p=$(command -v initdb) && dirname "$(readlink -f "$p")"
}

find_bin && exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null 2>&1; then
	{ $as_root apt-get update && $as_root apt-get install -y --no-install-recommends postgresql; } >&2
elif command -v dnf >/dev/null 2>&1; then
	$as_root dnf install -y postgresql-server >&2
fi
find_bin || { echo "hack/postgres.sh: no PostgreSQL server is installed, and no package manager that could; set SLUICE_POSTGRES to the folder of initdb and postgres" >&2; exit 1; }
