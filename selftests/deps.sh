#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Install the Debian 12 packages that building, testing and the demo need. No other part of the
# project installs packages. --check: install nothing, name missing packages and fail.
set -eu

# To build the library, the tools and the module
build="gcc make pkg-config libmnl-dev libelf-dev zlib1g-dev libzstd-dev libjansson-dev
       libncurses-dev libtracefs-dev libtraceevent-dev"
# To check the module and to build kernels
kernel="sparse flex bison bc cpio lz4 xz-utils kmod libssl-dev rsync python3 python3-yaml python3-jsonschema"
# To run the test machine, the tests and the demo
test="qemu-system-x86 qemu-system-arm busybox-static e2fsprogs apache2-utils libcmocka-dev g++
      gcc-aarch64-linux-gnu libc6-dev-arm64-cross gdb jq strace util-linux procps valgrind mandoc
      man-db udev dkms build-essential debhelper dh-dkms tmux"
# Clang for the compiler matrix, with its linker, archiver and sanitizers
matrix="clang lld llvm libclang-rt-14-dev"
# Tracers for the comparisons of make bench
bench="lttng-tools liblttng-ust-dev"
# Other tracers, which must find the probes
tracers="bpftrace linux-perf"

# newest REGEX: print the package that matches and has the highest version
newest() {
	apt-cache search --names-only "$1" | cut -d' ' -f1 | sort -V | tail -n 1
}

SUDO=
[ "$(id -u)" = 0 ] || SUDO=sudo

missing() {
	for p in "$@"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || echo "$p"
	done
}

# node and npm run an independent reader of trace files. Any node from version 18 on is good; an
# installed one is kept.
node=
command -v node >/dev/null && command -v npm >/dev/null || node="nodejs npm"

want="$build $kernel $test $matrix $bench $tracers $node"
# Kernel headers and sources: found by installed packages first, so that a
# second run asks the package lists nothing.
h61=$(dpkg-query -W -f '${Package} ${Status}\n' 'linux-headers-6.1.0-*-amd64' 2>/dev/null | grep ' installed$' | cut -d' ' -f1 | sort -V | tail -n 1)
h612=$(dpkg-query -W -f '${Package} ${Status}\n' 'linux-headers-6.12.*deb12-amd64' 2>/dev/null | grep ' installed$' | cut -d' ' -f1 | sort -V | tail -n 1)
s612=$(missing linux-source-6.12)
todo=$(missing $want)
[ -n "$h61" ] && [ -n "$h612" ] && [ -z "$s612" ] && [ -z "$todo" ] && exit 0

if [ "${1-}" = --check ]; then
	echo "missing packages: $todo $s612 ${h61:-linux-headers-6.1.*-amd64} ${h612:-linux-headers-6.12.*+deb12-amd64}" >&2
	echo "run: make deps" >&2
	exit 1
fi

begin=$(date +%s)
$SUDO apt-get update -qq
[ -n "$h61" ] || todo="$todo $(newest '^linux-headers-6\.1\.0-[0-9]+-amd64$')"
[ -n "$h612" ] || todo="$todo $(newest '^linux-headers-6\.12\.[0-9]+\+deb12-amd64$')"
todo="$todo $s612"
echo "installing:" $todo
$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $todo
# The time counts as time of make check: see selftests/check.
mkdir -p "$(dirname "$0")/../build/check"
echo $(($(date +%s) - begin)) >"$(dirname "$0")/../build/check/deps.took"
