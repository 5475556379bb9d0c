#!/bin/sh
# usage: fuzz.sh TIME
#
# Runs each fuzz target for TIME, such as 5s: go test -fuzz takes one at a time.
set -eu

grep -ro --include='*_test.go' '^func Fuzz[[:alnum:]_]*' . | sort | while IFS=: read -r file target; do
	package=$(dirname "$file")
	target=${target#func }
	echo "$package $target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package" </dev/null
done
