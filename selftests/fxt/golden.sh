#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# golden.sh ASYNCTRACE [--write]: test that files of earlier versions still have the same records,
# threads, operations, regions, logs and losses.
#
# golden/NAME.said has the expected contents of golden/NAME.fxt.gz. A new version of the format
# adds files and never changes the existing ones. --write writes the expected contents again, for
# instance after a change of a report's form.
set -u

at=$1
cd "$(dirname "$0")" || exit 1
at=$(cd - > /dev/null && realpath "$at")
. ../lib.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Numbers of events of each kind and name, without times, threads and values of arguments
kinds() { # FILE
	"$at" dump --events "$1" | sed -E 's/^[0-9.]+ [0-9]+\/[0-9]+ //' |
		sed -nE 's/^([a-z-]+ "[^"]*" "[^"]*").*/\1/p' | LC_ALL=C sort | uniq -c | sed 's/^ *//'
}

json() { # FILTER ARGUMENT...
	"$at" report --json "${@:2}" 2> /dev/null | jq -r "$1" | LC_ALL=C sort
}

said() { # NAME
	local name=$1 file=$tmp/$1.fxt

	gzip -dc "golden/$name.fxt.gz" > "$file"
	echo "# SPDX-License-Identifier: GPL-2.0"
	echo "# golden.sh: the contents of $name.fxt.gz"
	"$at" validate --allow-open "$file" 2>&1 | sed 's/^[^:]*: //; s/, /\n/g'
	kinds "$file"
	json '"operation \(.type) \(.count) \(.incomplete) max \(.max_ns) ns"' "$file"
	json '"region \(.region) \(.count) \(.unfinished) \(.total_ns) ns, self \(.self_ns) ns"' \
		"$file" regions
	json '"log \(.message)"' "$file" logs
	json '"loss \(.provider) \(.dropped) \(.overwritten) \(.malformed)"' "$file" losses
	json '"thread \(.thread) \(.running_ns) \(.woken_ns) \(.preempted_ns) \(.blocked_ns)"' \
		"$file" threads
}

if [ "${2-}" = --write ]; then
	for file in golden/*.fxt.gz; do
		name=$(basename "$file" .fxt.gz)
		said "$name" > "golden/$name.said"
	done
	exit
fi
for file in golden/*.fxt.gz; do
	name=$(basename "$file" .fxt.gz)
	begin "golden_${name}_is_read_as_it_was"
	said "$name" > "$tmp/said"
	check "the same" diff "golden/$name.said" "$tmp/said" > "$tmp/diff" 2>&1
	[ -n "$ok" ] || sed 's/^/#   /' "$tmp/diff" | head -n 20
	# asynctrace must also read the file without unpacking first.
	check "compressed" "$at" validate --allow-open "$file" > "$tmp/diff" 2>&1
	end
done
close
