#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace record of a client and a server. Needs the module and root.
#
# usage: rpc.sh ASYNCTRACE RPC FILE
#
# The trace goes to FILE, for Perfetto.
set -u

AT=$1 RPC=$2 keep=$3
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

begin "A13_recorded_call_and_answer_are_joined"
check record status 0 "$AT" record -o rpc.fxt -b 1M -s off -- "$RPC" 20
cp out said
check validate valid rpc.fxt
cp rpc.fxt "$keep"
check operations status 0 "$AT" report --json rpc.fxt
check "20 of each, complete" [ "$(jq -rs 'map("\(.type) \(.count) \(.incomplete)") | sort |
	join(", ")' <out)" = "rpc/call 20 0, rpc/handle 20 0" ]
for n in 1 20; do
	id=$(grep '^0x' said | sed -n ${n}p)
	check "tree $n" status 0 "$AT" report --json rpc.fxt tree "$id"
	check "$n: both processes" [ "$(jq -rs 'map(select(.kind == "operation") |
		"\(.depth) \(.what | sub("^ +"; ""))") | join(", ")' <out)" = \
		"0 rpc/call, 1 rpc/handle" ]
done
end

close
