# SPDX-License-Identifier: GPL-2.0
#
# Functions for bash scripts that keep downloaded or built files in the user's cache. Sets the
# variables here (the caller's directory) and cache. Changes nothing outside the cache.

here=$(cd "$(dirname "$0")" && pwd)
cache=${ASYNCTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/asynctrace}/kernels

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# lock PATH: one caller fetches or builds PATH, others wait
lock() {
	exec 9>"$1.lock"
	flock 9
}

# fresh PATH: make a directory, $new. The caller fills it and renames it to PATH when it
# is complete.
fresh() {
	new=$(mktemp -d "$1.XXXXXX")
	# Expand $new now, because the variable may have another value when the trap runs.
	trap "rm -rf '$new'" EXIT
	chmod 755 "$new"
}

# private_apt DIR DPKG-STATUS OPTION...: set the array apt to options with which apt-get
# keeps all its state in DIR, and read the package lists.
private_apt() {
	mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
	apt=(-o "Dir::State=$1/state" -o "Dir::State::status=$2" -o "Dir::Cache=$1/cache"
	     -o APT::Sandbox::User= "${@:3}")
	apt-get update -qq "${apt[@]}" >&2
}

keys=/usr/share/keyrings/debian-archive-keyring.gpg

# mirror: print the mirror from which this machine fetches Debian 12
mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
		'Codename: bookworm' 'Component: main' | head -n 1
}

# suites_apt DIR DPKG-STATUS SUITE...: private_apt for SUITEs of the mirror that mirror() finds
suites_apt() {
	local from suite
	from=$(mirror)
	[ -n "$from" ] || { echo "this machine fetches no packages of Debian 12"; return 1; } >&2
	mkdir -p "$1"
	for suite in "${@:3}"; do
		echo "deb [signed-by=$keys] $from $suite main"
	done >"$1/sources"
	private_apt "$1" "$2" -o "Dir::Etc::SourceList=$1/sources" \
		-o Dir::Etc::SourceParts=/dev/null -o APT::Update::Error-Mode=any
}
