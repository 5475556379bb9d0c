#!/bin/sh
# usage: install.sh tarantool|cc...
#
# Sees to it that each of the programs is there: Tarantool, which tests and the
# demo run, and a C compiler, which Go's race detector needs. A Tarantool that
# $TARANTOOL names counts. What is missing is installed by apt-get, as root or by
# sudo; where there is no apt-get, it says what to install and fails.
set -eu

say() { echo "scripts/install.sh: $*" >&2; }

missing=
packages=
for program; do
	case $program in
	tarantool)
		if [ -n "${TARANTOOL:-}" ]; then
			command -v "$TARANTOOL" >/dev/null && continue
			say "TARANTOOL=$TARANTOOL is no program"
			exit 1
		fi
		command -v tarantool >/dev/null && continue
		packages="$packages tarantool"
		;;
	cc)
		command -v "$(go env CC)" >/dev/null && continue
		packages="$packages gcc libc6-dev"
		;;
	*)
		say "unknown program $program"
		exit 2
		;;
	esac
	missing="$missing $program"
done
[ -n "$packages" ] || exit 0

help() {
	say "install them and try again:$missing"
	say "  tarantool: version 2.6 or newer, https://www.tarantool.io/en/download/; TARANTOOL=/path/to/it works too"
	say "  cc: any C compiler that Go can use"
	exit 1
}

if ! command -v apt-get >/dev/null; then
	say "not found:$missing, and this system has no apt-get"
	help
fi
commands="apt-get update --quiet=2 &&
  DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends$packages"
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	if ! command -v sudo >/dev/null; then
		say "not found:$missing, and neither root nor sudo to install it: apt-get install$packages"
		exit 1
	fi
fi
say "not found:$missing. Installing by ${sudo:-root}, with what they depend on:
  $commands"
$sudo sh -c "$commands" >/dev/null || help
