#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libfuzzer.sh [--seconds N] [--seed N]: give the analysis traces that libFuzzer changes, under ASan
# and UBSan. An input that fails is left in build/selftests/analysis/libfuzzer.
set -u
cd "$(dirname "$0")/../.."
seconds=60 seed=$RANDOM
while [ $# -gt 1 ]; do
	case $1 in
	--seconds) seconds=$2 ;;
	--seed) seed=$2 ;;
	esac
	shift 2
done
dir=$PWD/build/selftests/analysis/libfuzzer
make -s -C selftests/analysis out="$PWD/build/selftests/analysis" libfuzzer &&
	make -s -C selftests/fxt out="$PWD/build/selftests/fxt" \
		"$PWD/build/selftests/fxt/plain/traces" || exit 1
rm -rf "$dir/corpus"
mkdir -p "$dir/corpus"
for kind in server lossy nested evil load; do
	build/selftests/fxt/plain/traces $kind "$dir/trace.fxt" 2 > "$dir/log" 2>&1 || exit 1
	for options in '\0' '\377'; do
		{ printf "$options\12\20\0\0\0\0\0" && tail -c +9 "$dir/trace.fxt"; } \
			> "$dir/corpus/$kind-${options#?}"
	done
done
echo "# seed $seed"
"$dir/libfuzzer" -max_total_time="$seconds" -seed="$seed" -max_len=16384 -timeout=600 \
	-rss_limit_mb=2048 -artifact_prefix="$dir/failed-" "$dir/corpus" 2>&1 |
	tee "$dir/log" | grep --line-buffered -E '^#[0-9]+[[:space:]]+(pulse|DONE)'
if [ "${PIPESTATUS[0]}" = 0 ]; then
	echo "ok - libfuzzer_$seconds""_seconds_are_clean"
	echo "1 passed, 0 failed, 0 skipped"
else
	sed 's/^/# /' "$dir/log" | tail -n 60
	echo "not ok - libfuzzer_$seconds""_seconds_are_clean"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
