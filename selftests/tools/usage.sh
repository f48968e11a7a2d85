#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the messages of the command before it asks the module: help, versions and wrong
# use. Needs neither the module nor root.
#
# usage: usage.sh ASYNCTRACE
set -u

AT=$1
here=$(cd "${0%/*}" && pwd)

. "$here/lib.sh"
scratch

begin "too large buffer is refused, largest named"
for c in "record -o t.fxt" "session create one"; do
	check "$c" status 2 "$AT" $c -b 'http=2G'
	check "what" says "--buffer-size 'http=2G' is too large"
	check "limit" says "at most 1 GiB; use 1G or less"
done
check "nothing written" [ ! -e t.fxt ]
end

# to_full STATUS COMMAND...: the command reports that its output could not be written
to_full() {
	local want=$1
	shift
	"$@" >/dev/full 2>err
	[ $? = "$want" ] && says "No space left on device"
}

begin "help that cannot be written is a failure"
for c in --help -h help --version "session --help" "session list --help" "session attach --help" \
		"validate --rules"; do
	check "$c" to_full 1 "$AT" $c
done
for c in record session providers list categories status doctor top why report dump validate; do
	check "$c --help" to_full 1 "$AT" $c --help
done
end

# into_closed COMMAND...: the command reports that its standard output is closed
into_closed() {
	"$@" >&- 2>err
	[ $? = 1 ] && says "cannot write to standard output: Bad file descriptor"
}

# from_closed COMMAND...: the command reports that its standard input is closed
from_closed() {
	status 2 "$@" <&- && says "Bad file descriptor"
}

begin "closed standard descriptors are reported"
for c in record session providers list categories status doctor top why report dump validate; do
	check "output of $c" into_closed "$AT" $c --help
done
for c in "top --batch" report "why --slowest 1" dump validate; do
	check "input of $c" from_closed "$AT" $c -
done
end

begin "help is written and nothing else"
for c in --help --version "validate --rules" "validate --help" "dump --help"; do
	check "$c" status 0 "$AT" $c
	check "$c is there" [ -s out ]
	check "$c says no more" [ ! -s err ]
done
end

begin "help of a command is that of its --help"
for c in record session why "session create" "session list"; do
	"$AT" $c --help >want
	check "$c" status 0 "$AT" help $c
	check "$c, the text" cmp want out
done
check "no such command" status 2 "$AT" help nothing
check "and the reason" says "there is no command 'nothing'"
end

begin "report_format_twice_is_one_format"
for c in "--json --json" "--csv --csv"; do
	check "$c" status 2 "$AT" report $c /dev/null
	check "$c, the reason" says "cannot read /dev/null: it is empty"
done
check "two formats" status 2 "$AT" report --json --csv --json /dev/null
check "two formats, the reason" says "each choose a format: use one of them"
end

# A script passes an empty name if the variable with the name is not set.
begin "empty_trace_name_is_reported"
for c in dump validate why report "top --batch"; do
	check "$c" status 2 "$AT" $c ""
	check "$c, the reason and the remedy" says \
		"the name of the trace is empty: name a file, or - for the standard input"
done
check "report diff" status 2 "$AT" report diff "" ""
check "report diff, the reason" says "the name of the trace is empty"
end

begin "wrong use without output is wrong use"
"$AT" >/dev/full 2>err
check "2" [ $? = 2 ]
check usage says usage:
end

begin "record_wrong_slower_than_shows_the_form"
for bound in request 'request>' '>5ms' 'request>5' 'request>5 ms' 'request>1e30s'; do
	check "$bound" status 2 "$AT" record -o t.fxt --slower-than "$bound"
	check "what" says "'$bound' does not define slow operations"
	check "remedy" says "'http/request>50ms'"
done
check "before alone" status 2 "$AT" record --before 5ms
check "told" says "--before applies to the records that --slower-than keeps"
check "window alone" status 2 "$AT" record --window 1M
check "small window" status 2 "$AT" record --slower-than 'a>5ms' --window 100K
check "limits" says "from 256K to 8G"
for o in "--rotate 5M" "--max-size 5M" "-m circular --trigger late:snapshot"; do
	check "$o" status 2 "$AT" record --slower-than 'a>5ms' $o
	check "together" says "exclude each other"
done
check "nothing written" [ ! -e t.fxt ]
end

begin "rotated output must be a file"
for c in record "session attach one"; do
	check "$c" status 2 "$AT" $c -o - --rotate 1M
	check "pipe" says "standard output cannot be rotated; use -o FILE"
	check "$c" status 2 "$AT" $c -o ./ --rotate 1M
	check "directory" says "'./' is a directory: name a file"
done
end

begin "record_cpu_time_tells_what_it_needs"
check "no scheduling" status 2 "$AT" record --cpu-time -s off -o t.fxt
check "reason" says "--cpu-time needs scheduling"
check "nothing written" [ ! -e t.fxt ]
end

begin "record_checks_patterns_before_the_module"
for list in 'a*b' '**' 'x,*y'; do
	check "$list" status 2 "$AT" record -o t.fxt -p "$list"
	check "what" says "'${list##*,}': a '*' must be the last character"
done
check "nothing written" [ ! -e t.fxt ]
end

begin "messages_about_values_have_no_escapes"
bad=$'\e[31mx\nx'
for o in -d -m -b -s --pid --uid --cgroup --max-size --rotate "--rotate 1M," "-b x=" \
	 --trigger --slower-than --before --window; do
	case $o in
	*,|*=) check "$o" status 2 "$AT" record $o"$bad" ;;
	*) check "$o" status 2 "$AT" record ${o%% *} "$bad" ;;
	esac
	check "$o: one line" [ "$(wc -l <err)" = 1 ]
	check "$o: text" eval '! LC_ALL=C tr -d "\n" <err | LC_ALL=C grep -q "[[:cntrl:]]"'
	check "$o: message" says "[31mx?x"
done
long=$(printf '%0300d' 0)
check "categories" status 2 "$AT" record -c "$bad$long"
check "text" says "categories '?[31mx?x00"
check "no such command" status 127 "$AT" record -- "$bad"
check "text" says "'?[31mx?x'"
for c in "why --slowest" "why --percentile" "report --min" "report --from" "report --window" "report x" \
	 providers "session" "session start a" "session create a" "session start --clear" \
	 "top --interval" "top --sort" "top --memory" "top --count"; do
	check "$c" status 2 "$AT" $c "$bad"
	check "$c: text" says "?[31mx?x"
done
end

begin "wrong_number_is_answered_with_its_bounds"
# bounds TEXT COMMAND...: the wrong number is answered with its bounds
bounds() {
	check "${*:2}" status 2 "$AT" "${@:2}"
	check "${*:2}: bounds" says "$1"
}
most=18446744073709551615
for c in report why; do
	bounds "--min takes a time from 0ns to below 1000000000s, in ns, us, ms or s," $c --min 5
	bounds "--max takes a time from 0ns to below 1000000000s, in ns, us, ms or s," $c --max 1000000000s
	bounds "a number of ns alone, from 0 to $most" $c --from -1
	bounds "ns, us, ms or s, such as 1.5s, for the time since its begin, from 0ns to below" $c --to x
	bounds "from 1 to 4294967295" $c --window 0
	bounds "from 1 to 4294967295" $c --history 4294967296
	bounds "from 0 to 0xffffffffffffffff" $c x $([ $c = why ] || echo tree) 0x10000000000000000
done
bounds "from 1 to $most" why --slowest 0
bounds "above 0 and up to 100" why --percentile 0
bounds "from 1 to $most" top --batch --count 0
bounds "from 64M to 2^64 - 1 bytes" top --memory 63M
bounds "from 0.05 to 3600" top --interval 0
bounds "from 1 to $most" validate --window 0 x
bounds "from 0 to $most" validate --expect-async a=-1 x
for c in record "session create x" top; do
	bounds "from 16K to 1G" $c -b x
	bounds "from 16 KiB to 1 GiB; try 16K" $c -b 1K
	bounds "from 1 to 4294967294" $c --pid 0
	bounds "from 0 to 4294967294" $c --uid 4294967295
done
for c in record "session attach x"; do
	bounds "above 0 and below 1000000000" $c -d 0
	bounds "above 0 and below 1000000000" $c -d 1e9
	bounds "from 1M to 2^64 - 1 bytes" $c --max-size 1K
	bounds "from 1M to 2^64 - 1 bytes" $c --rotate 1K
	bounds "from 1 to 1000000" $c --rotate 1M,0
done
bounds "from 0ns to below 1000000000s, in ns, us, ms or s" record --slower-than x
bounds "from 0ns to 3600s, in ns, us, ms or s," record --slower-than 'a>1s' --before 3601s
bounds "from 256K to 8G" record --slower-than 'a>1s' --window 1
end

begin "diff_behind_a_file_shows_the_right_order"
for c in "x diff" "x diff y"; do
	check "$c" status 2 "$AT" report $c
	check "$c: order" says "asynctrace report diff FILE-A FILE-B"
done
end

commands="record providers list categories status doctor top why report dump validate"
verbs="create init start stop update snapshot attach destroy list"

begin "unknown option names the whole command"
for c in $commands $(printf 'session_%s ' $verbs); do
	c=${c/_/ }
	check "$c" status 2 "$AT" $c --nonsense
	check "whose" says "asynctrace $c: unrecognized option '--nonsense'"
	check "remedy" says "Try 'asynctrace $c --help'"
done
end

begin "every --help has examples, of itself"
for c in $commands session $(printf 'session_%s ' $verbs); do
	c=${c/_/ }
	check "$c" status 0 "$AT" $c --help
	c=${c/#list/providers}
	check "examples of $c" eval "sed '1,/^Examples:/d' out | grep -qx '  asynctrace $c\\( .*\\)\\?'"
done
check "asynctrace" status 0 "$AT" --help
check "its examples" eval "sed '1,/^Examples:/d' out | grep -q '^  asynctrace '"
end

# Without the module there is no device. cli.sh tests the command with the module.
if [ ! -e /dev/asynctrace ]; then
	begin "record_without_module_names_asynctrace_out"
	check record status 125 "$AT" record -o x.fxt -- echo ran
	check reason says "the asynctrace module is not loaded"
	check remedy says "  ASYNCTRACE_OUT=x.fxt echo ..."
	check "it was not run" [ ! -s out ]
	check "no command" status 1 "$AT" record -o - -d 1
	check remedy says "  ASYNCTRACE_OUT=trace.fxt PROGRAM"
	end
fi

close
