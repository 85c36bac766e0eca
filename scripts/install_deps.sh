#!/bin/sh
# install_deps.sh [--runtime] [--build] [--test] [--bench] [--list] - installs what is missing of
# the Debian or Ubuntu packages that running, building, testing and measuring traceloom need.
#
# Without a group: build and test. Quiet when everything is there. Without root and without sudo it
# prints the command that somebody else must run, and fails. "a|b" is: whichever is there, else the
# first that can be had. Packages after "optional:" only make more tests or peers run.
set -eu
LC_ALL=C
export LC_ALL

runtime='libsqlite3-0 libtraceevent1|libtraceevent1t64 libelf1|libelf1t64 libdw1|libdw1t64 libjansson4
	zlib1g libzstd1 liblzma5|liblzma5t64 libbz2-1.0 libpcre2-8-0 libpcre2-posix3|libpcre2-posix2'
build='gcc make pkg-config|pkgconf libc6-dev libsqlite3-dev libtraceevent-dev libelf-dev libdw-dev
	libjansson-dev zlib1g-dev libzstd-dev liblzma-dev libbz2-dev libiberty-dev libpcre2-dev'
test='libcmocka-dev
	optional: clang libclang-rt-dev|libclang-rt-14-dev clang-format-14|clang-format
	shellcheck sqlite3 jq python3 perl strace man-db'
bench='time
	optional: linux-perf|linux-tools-generic hyperfine ltrace perl python3 jq'

usage() {
	sed -n '2,7s/^# \{0,1\}//p' "$0"
}

groups=''
list=no
for argument in "$@"; do
	case $argument in
	--runtime | --build | --test | --bench) groups="$groups ${argument#--}" ;;
	--list) list=yes ;;
	--help | -h) usage; exit 0 ;;
	*) echo "install_deps.sh: there is no option $argument" >&2; usage >&2; exit 2 ;;
	esac
done
[ -n "$groups" ] || groups='build test'

wanted=''
for group in $groups; do
	case $group in
	runtime) wanted="$wanted $runtime" ;;
	build) wanted="$wanted $build" ;;
	test) wanted="$wanted $test" ;;
	bench) wanted="$wanted $bench" ;;
	esac
	wanted="$wanted required:"
done

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
	echo "install_deps.sh: no Debian or Ubuntu; going on with what is there." >&2
	echo "$wanted" | tr -s '\n\t' '  ' | sed 's/^ */Needed are, by their Debian names: /; s/ required://g' >&2
	exit 0
fi

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

can_be_had() {
	apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# alternatives A|B: the one installed, or nothing
installed_one() {
	for name in $(echo "$1" | tr '|' ' '); do
		if is_installed "$name"; then
			echo "$name"
			return
		fi
	done
}

available_one() {
	for name in $(echo "$1" | tr '|' ' '); do
		if can_be_had "$name"; then
			echo "$name"
			return
		fi
	done
}

missing=''
necessity=required
for entry in $wanted; do
	case $entry in
	optional: | required:) necessity=${entry%:}; continue ;;
	esac
	[ -n "$(installed_one "$entry")" ] || missing="$missing $necessity:$entry"
done
if [ $list = yes ]; then
	for entry in $missing; do echo "$entry"; done
	exit 0
fi
[ -n "$missing" ] || exit 0

# How to become root: "", "sudo -n", "sudo", or "none".
if [ "$(id -u)" = 0 ]; then
	as_root=''
elif ! command -v sudo >/dev/null 2>&1; then
	as_root=none
elif sudo -n true 2>/dev/null; then
	as_root='sudo -n'
elif [ -t 0 ]; then
	as_root=sudo
else
	as_root=none
fi

choose() {
	packages='' unavailable='' impossible=''
	for entry in $missing; do
		name=$(available_one "${entry#*:}")
		if [ -n "$name" ]; then
			packages="$packages $name"
		elif [ "${entry%%:*}" = required ]; then
			impossible="$impossible ${entry#*:}"
		else
			unavailable="$unavailable ${entry#*:}"
		fi
	done
}

# The package lists are fetched only if they know nothing of something that is needed.
choose
if [ -n "$impossible$unavailable" ] && [ "$as_root" != none ]; then
	$as_root apt-get -qq update || echo "install_deps.sh: the package lists could not be fetched" >&2
	choose
fi
if [ "$as_root" = none ]; then
	echo "install_deps.sh: packages are missing, and neither root nor sudo is at hand. Run as root:" >&2
	for entry in $impossible $unavailable; do packages="$packages ${entry%%|*}"; done
	echo "  apt-get update && apt-get install -y --no-install-recommends$packages" >&2
	case $missing in
	*required:*) exit 1 ;;
	esac
	echo "install_deps.sh: going on without them: they only make more tests run" >&2
	exit 0
fi
if [ -n "$impossible" ]; then
	echo "install_deps.sh: no such package here:$impossible" >&2
	exit 1
fi
[ -z "$unavailable" ] || echo "install_deps.sh: not to be had here, done without:$unavailable" >&2
[ -n "$packages" ] || exit 0

install() {
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y \
		--no-install-recommends $packages </dev/null >&2
}

echo "install_deps.sh: installing$packages" >&2
if ! install; then
	# Lists older than the archive name versions that are gone.
	{ $as_root apt-get -qq update && install; } || {
		echo "install_deps.sh: could not install. By hand:" >&2
		echo "  apt-get update && apt-get install -y --no-install-recommends$packages" >&2
		exit 1
	}
fi
