#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace doctor on a healthy machine and on others: what it finds, what it names as the cause,
# and that it suggests a remedy for each failure. Needs root; loads and unloads the module.
#
# usage: doctor.sh ASYNCTRACE PROVIDER FORBID MODULE.ko
set -u

AT=$1 PROVIDER=$2 FORBID=$3 KO=$4
. "${0%/*}/lib.sh"
scratch

# finding NAME KEY TEXT: the finding NAME has TEXT as KEY
finding() {
	jq -r --arg name "$1" '.checks[] | select(.name == $name)' out >err
	jq -r ".$2" err | grep -qF -e "$3"
}

level() { # NAME LEVEL
	finding "$1" level "$2"
}

text() { # NAME TEXT
	finding "$1" text "$2"
}

remedy() { # NAME TEXT
	finding "$1" remedy "$2"
}

# examine NAME... [-- COMMAND...]: run the doctor by COMMAND. Check that exactly the findings NAME
# fail, that each of them has a remedy, and that the doctor says that nothing can be recorded.
examine() {
	local names=

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		names="$names $1"
		shift
	done
	shift
	check "exit status" status 1 "$@" "$AT" doctor --json
	jq '.checks[] | select(.level == "fail")' out >err
	check "fails:$names" [ " $(jq -r '[.checks[] | select(.level == "fail").name] | join(" ")' out)" = "$names" ]
	check "a remedy for all that fails" \
		[ "$(jq '[.checks[] | select(.level == "fail" and .remedy == "")] | length' out)" = 0 ]
	check "nothing can be recorded" [ "$(jq .can_record out)" = false ]
}

# Hide the module's file, so that opening the device does not load the module.
mount -t tmpfs none "/lib/modules/$(uname -r)"
insmod "$KO" || exit 1

begin "nothing is wrong here"
check doctor status 0 "$AT" doctor
check "can" grep -q "You can record" out
check json status 0 "$AT" doctor --json
check can [ "$(jq .can_record out)" = true ]
check "no failure" [ "$(jq '[.checks[] | select(.level == "fail")] | length' out)" = 0 ]
check usage status 2 "$AT" doctor me
end

begin "missing rights are named"
check "can" status 0 $NOBODY "$AT" doctor --json
check "what not" level privilege warn
check remedy remedy privilege cap_perfmon
check "no rseq" status 0 env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$AT" doctor --json
check said level rseq warn
end

begin "no netlink blames netlink, not the module"
examine netlink -- "$FORBID" netlink
check reason text netlink "Address family not supported"
check remedy remedy netlink "run the command outside"
check module level module ok
check device level device ok
examine netlink -- $NOBODY "$FORBID" netlink
check "a program inside" status 0 "$AT" record -o t.fxt -s off -- "$FORBID" netlink "$PROVIDER" 1 100
check "is recorded" [ "$(summary events)" = 300 ]
end

begin "no netlink and no device blames both"
chmod 600 /dev/asynctrace
examine netlink device -- $NOBODY "$FORBID" netlink
check module level module ok
check remedy remedy device "chmod 666"
chmod 666 /dev/asynctrace
end

begin "no netlink and no sysfs leaves module unknown"
examine netlink -- unshare -m sh -c 'mount -t tmpfs none /sys && exec "$@"' - "$FORBID" netlink
check module level module warn
check remedy remedy module "mount"
end

begin "sockets that cannot send are blamed"
examine interface -- "$FORBID" sending
check module level module ok
check reason text interface "Operation not permitted"
check remedy remedy interface "sandbox"
end

begin "no descriptors"
examine device session -- bash -c 'ulimit -n 4; exec "$@"' -
check remedy remedy device "ulimit -n"
check "one is enough" remedy session "device"
end

begin "too many sessions: which to end, and how"
check none status 1 $NOBODY sh -c 'for i in $(seq 100); do "$0" session create -s off -b 16K s$i || exit; done' "$AT"
examine session -- $NOBODY
check reason text session "too many"
check remedy remedy session "asynctrace session destroy"
$NOBODY sh -c '"$0" session list --json | jq -r ".sessions[].name" | xargs -n 1 "$0" session destroy' "$AT"
check "well again" status 0 $NOBODY "$AT" doctor
end

begin "another architecture"
examine kernel -- setarch i686
check remedy remedy kernel "setarch"
end

soon rmmod asynctrace || echo "# the module does not go"

begin "no module: neither is its device"
examine module device --
check reason text module "neither loaded nor installed"
check remedy remedy module "make install-module"
check remedy remedy device "load the module"
examine netlink module device -- "$FORBID" netlink
check reason text module "neither loaded nor installed"
end

begin "a device that another module has left"
mknod /dev/asynctrace c 10 250
examine module device --
check reason text device "is not the module's"
check remedy remedy device "remove it"
rm /dev/asynctrace
end

# installed FILE: install asynctrace.ko as FILE for modprobe, compressed as the name says
installed() {
	case $1 in
	*.gz)	gzip -kf asynctrace.ko ;;
	*.xz)	xz -kf asynctrace.ko ;;
	*.zst)	zstd -qkf asynctrace.ko ;;
	esac
	rm -f "$dir"/*
	cp "$1" "$dir/"
	echo "updates/$1:" >"$dir/../modules.dep"
}

dir=/lib/modules/$(uname -r)/updates
mkdir "$dir"
cp "$KO" asynctrace.ko

begin "a module that is not loaded"
installed asynctrace.ko
examine module device --
check file text module "$dir/asynctrace.ko is not loaded"
check remedy remedy module "modprobe asynctrace"
end

# From here on, the kernel refuses modules without a signature.
enforce=/sys/module/module/parameters/sig_enforce
if ! echo 1 2>err >$enforce; then
	echo "# $enforce: $(cat err): signatures are left out"
	close
	exit
fi

begin "unsigned module is named, packed or not"
for file in asynctrace.ko asynctrace.ko.gz asynctrace.ko.zst; do
	installed $file
	examine module device --
	check "$file" text module "$dir/$file has no signature, and module.sig_enforce is set"
	check "remedy for $file" remedy module "sign it"
	[ $file = asynctrace.ko ] || check "unpacked first, $file" remedy module "make install-module"
done
end

echo "~Module signature appended~" >>asynctrace.ko

begin "a module that is signed, packed or not"
for file in asynctrace.ko asynctrace.ko.gz asynctrace.ko.zst; do
	installed $file
	examine module device --
	check "$file" text module "$dir/$file is not loaded"
	check "remedy for $file" remedy module "may not be enrolled"
done
end

begin "invisible signature names its remedy"
installed asynctrace.ko.xz
examine module device --
check "not known" text module "cannot read whether it has a signature: it is compressed by xz"
check remedy remedy module "modinfo -F signer asynctrace"
rm "$dir"/*
installed asynctrace.ko.gz
truncate -s 100 "$dir/asynctrace.ko.gz"
examine module device --
check "cut" text module "cannot read whether it has a signature: its end is missing"
rm "$dir"/*
examine module device --
check "no file" text module "cannot read whether it has a signature: No such file"
end

close
