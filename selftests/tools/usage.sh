#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the command says before it has asked the module anything: of itself, and to
# wrong use. Needs neither the module nor root.
#
# usage: usage.sh ASYNCTRACE
set -u

AT=$1
here=$(cd "${0%/*}" && pwd)

. "$here/lib.sh"
scratch

begin "a provider's buffer beyond the largest is refused, and the largest is named"
for c in "record -o t.fxt" "session create one"; do
	check "$c" status 2 "$AT" $c -b 'http=2G'
	check "what" says "--buffer-size 'http=2G' is too large"
	check "limit" says "at most 1 GiB; use 1G or less"
done
check "nothing written" [ ! -e t.fxt ]
end

close
