#!/bin/sh
# usage: fuzz.sh TIME
#
# Runs each fuzz target for TIME, such as 5s: go test -fuzz takes one at a time.
set -eu

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz fails on what the target finds. Up to Go 1.26 the end of TIME itself may be
# reported as a failure, without an input (golang/go#75804): that run counts for nothing.
fuzz() {
	for attempt in 1 2 3; do
		if go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" </dev/null >"$log" 2>&1; then
			cat "$log"
			return 0
		fi
		cat "$log"
		if grep -q 'Failing input' "$log" || ! grep -q '^ *context deadline exceeded$' "$log"; then
			return 1
		fi
		echo "once more: the fuzzer took the end of its own time for a failure (attempt $attempt)"
	done
	return 1
}

grep -ro --include='*_test.go' '^func Fuzz[[:alnum:]_]*' . | sort | while IFS=: read -r file target; do
	target=${target#func }
	echo "$(dirname "$file") $target"
	fuzz "$(dirname "$file")" "$target" "$1"
done
