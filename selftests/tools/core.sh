#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# core.sh ASYNCTRACE DIES: core dumps of programs that are recorded. Needs the module and root.
set -u

AT=$1 DIES=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch
pattern=$(cat /proc/sys/kernel/core_pattern)
echo "$work/core.%p" > /proc/sys/kernel/core_pattern
ulimit -c unlimited

# crash FILTER: record the program until it crashes, with this coredump_filter
crash() {
	rm -f core.*
	"$AT" record -o t.fxt -- sh -c 'echo "$1" > /proc/self/coredump_filter; exec "$2" 100' sh \
		"$1" "$DIES" > printed 2> err
	[ $? = $((128 + 6)) ] && [ -e core.* ] || return
	mv core.* core
	cut -d' ' -f2 printed | sort > want
	[ "$(wc -l < want)" = 100 ]
}

# same FILE: the file has the operations that the program printed
same() {
	diff want "$1" > err
}

# 0x33 is the default filter. Filter 0 excludes all kinds of memory, but the kernel always includes
# mappings that a driver has named, such as the cells.
for filter in 0x33 0; do
	begin "core dump has the cells, filter $filter"
	check crash crash $filter
	check reader eval 'python3 "$here/core_cells.py" core | sort > got'
	check "each thread's operation" same got
	# The dump does not have the rings.
	check "dump is small" [ "$(stat -c %b core)" -lt $((64 << 11)) ]
	end
done

begin "gdb shows operation of each thread"
check crash crash 0x33
gdb -q -batch -ex 'thread apply all -q print/x at_current_.id' "$DIES" core > gdb.out 2> err
check "each thread's operation" same \
	<(sed -n 's/^\$[0-9]* = \(0x[0-9a-f]*\)$/\1/p' gdb.out | grep -vx 0x0 | sort)
gdb -q -batch -ex 'thread apply all -q x/gx at_current_.cell' "$DIES" core > gdb.out 2> err
check "each thread's cell" same \
	<(sed -n 's/^0x[0-9a-f]*:[[:space:]]*0x0*\([0-9a-f]*\)$/0x\1/p' gdb.out | grep -vx 0x | sort)
"$AT" report t.fxt unfinished > out
check "the trace has the operations" [ "$(grep -c dies/ out)" -ge 1 ]
end

echo "$pattern" > /proc/sys/kernel/core_pattern
close
