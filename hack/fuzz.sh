#!/bin/sh
# Runs every fuzz target of the module for the given time each.
time=${1:-60s}
status=0
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -h '^func Fuzz' "$dir"/*_test.go | sed 's/func \(Fuzz[A-Za-z0-9_]*\).*/\1/' | sort -u); do
		echo "== $dir $target"
		${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$dir" || status=1
	done
done
exit $status
