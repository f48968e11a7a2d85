# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion of asynctrace for bash. It needs no other file. If bash-completion is
# installed, its rules complete the command of `asynctrace record -- CMD`.

# Completes the last name of a comma-separated list.
_asynctrace_list() { # NAME...
	local before=
	[[ $cur == *,* ]] && before=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "${cur##*,}")
	compopt -o nospace 2>/dev/null
	return 0
}

_asynctrace_words() { # WORD...
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
}

_asynctrace_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

# Is this word of the command line a trace: a file, also with quoted characters, or "-"?
_asynctrace_is_trace() { # WORD
	local file=${1//[\\\'\"]/}

	[ "$1" = - ] || [ -f "${file/#\~\//$HOME/}" ]
}

# Prints the module's names that need no quoting.
_asynctrace_providers() {
	asynctrace providers --json 2>/dev/null |
		sed -n 's/^      "name": "\([A-Za-z0-9._-]*\)",\?$/\1/p' | sort -u
}

_asynctrace_categories() {
	asynctrace categories --json 2>/dev/null |
		sed -n 's/^          "name": "\([A-Za-z0-9._:-]*\)",\?$/\1/p' | sort -u
}

_asynctrace_sessions() {
	asynctrace session list --json 2>/dev/null |
		sed -n 's/^      "name": "\([A-Za-z0-9._-]*\)",\?$/\1/p'
}

# Completes the value of an option. Fails if the previous word takes no value.
_asynctrace_value() { # COMMAND OPTION
	case $1:$2 in
	dump:* | validate:--expect-async | validate:--cross-thread | validate:--window | \
	why:--* | report:--*)
		[[ $2 == --expect-async || $2 == --cross-thread || $2 == --window ||
		   $2 == --slowest || $2 == --percentile || $2 == --type || $2 == --provider ||
		   $2 == --category || $2 == --min || $2 == --max || $2 == --from || $2 == --to ||
		   $2 == --pair || $2 == --key || $2 == --history || $2 == --log ]] ;;
	*:-o | *:--output)
		_asynctrace_files ;;
	*:-m | *:--mode)
		_asynctrace_words oneshot circular streaming ;;
	*:-s | *:--sched)
		_asynctrace_words targets all off ;;
	*:-b | *:--buffer-size)
		_asynctrace_words 64K 256K 1M 4M 16M 64M ;;
	*:-p | *:--providers)
		_asynctrace_list "$(_asynctrace_providers)" ;;
	*:-c | *:--categories)
		_asynctrace_list "$(_asynctrace_categories)" ;;
	*:--clear)
		_asynctrace_words entire nondurable retain ;;
	*:--pid)
		_asynctrace_list "$(cd /proc && printf '%s\n' [0-9]*)" ;;
	*:--uid)
		_asynctrace_list "$(compgen -u)" ;;
	*:--cgroup)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}") ;;
	*:--window)
		_asynctrace_words 16M 64M 256M 1G ;;
	*:-k | *:--kernel)
		_asynctrace_list syscalls faults block irq reclaim cpu ;;
	record:-e | record:--event)
		_asynctrace_list "$(cut -d: -f1 /sys/kernel/tracing/available_events 2>/dev/null |
			sort -u | sed 's/$/:*/')" ;;
	*:--max-size | *:--rotate)
		_asynctrace_words 10M 100M 1G ;;
	top:--attach)
		_asynctrace_words "$(_asynctrace_sessions)" ;;
	top:--sort)
		_asynctrace_words rate p50 p99 max running runnable blocked queued unknown name ;;
	top:--memory)
		_asynctrace_words 128M 512M 2G ;;
	top:--count | top:--interval | top:--filter)
		;;
	*:-d | *:--duration | *:-n | *:--name | *:--trigger | *:--slower-than | *:--before)
		;;
	*)
		return 1 ;;
	esac
}

# Prints the options of a command, or of a verb of session.
_asynctrace_options() { # COMMAND
	local session="--categories --providers --mode --buffer-size --sched --pid --uid
		       --cgroup --follow"
	local out="--output --max-size --rotate --duration"
	local operations="--type --provider --category --min --max --from --to --pair --key --window
			  --history"

	case $1 in
	record)
		echo "$session $out --name --event --kernel --trigger --slower-than --before
			--window --cpu-time --json --help --" ;;
	providers | list | categories | status | doctor)
		echo "--json --help" ;;
	report)
		echo "$operations --json --csv --folded --pprof --log --all --help" ;;
	top)
		echo "${session/--mode /} --attach --batch --json --count --interval --sort --filter
		      --since-start --memory --help" ;;
	why)
		echo "--slowest --percentile --brief --json $operations --help" ;;
	dump)
		echo "--events --offsets --json --help" ;;
	validate)
		echo "--expect-async --cross-thread --allow-open --window --json --rules --quiet
		      --help" ;;
	session)
		echo "--help" ;;
	"session create")
		echo "$session --no-init --json --help" ;;
	"session start")
		echo "--clear --categories --json --help" ;;
	"session update")
		echo "--categories --json --help" ;;
	"session attach")
		echo "$out --json --help" ;;
	"session snapshot")
		echo "--output --json --help" ;;
	session\ *)
		echo "--json --help" ;;
	esac
}

_asynctrace() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local commands="record session providers list categories status doctor top why report dump validate"
	local verbs="create init start stop update snapshot attach destroy list"
	local command=${COMP_WORDS[1]} options i

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_asynctrace_words "$commands help --help --version"
		return
	fi
	# Readline splits --option=value into three words.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "$command:${COMP_WORDS[i]}" = record:-- ] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		elif [ "$COMP_CWORD" = $((i + 1)) ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			_asynctrace_files
		fi
		return
	done
	if [ "$command" = session ] && [ "$COMP_CWORD" -gt 2 ]; then
		command="session ${COMP_WORDS[2]}"
	fi
	_asynctrace_value "$command" "$prev" && return
	options=$(_asynctrace_options "$command")
	case $cur:$command in
	-*)
		_asynctrace_words "$options" ;;
	*:session)
		_asynctrace_words "$verbs" ;;
	*:help)
		case $COMP_CWORD:$prev in
		2:*) _asynctrace_words "$commands" ;;
		3:session) _asynctrace_words "$verbs" ;;
		esac ;;
	*:top | *:why | *:dump | *:validate)
		_asynctrace_files ;;
	*:report)
		if [[ " ${COMP_WORDS[*]} " != *" diff "* ]] && [ "$COMP_CWORD" -gt 2 ] &&
		   _asynctrace_is_trace "$prev"; then
			_asynctrace_words operations blame running runnable blocked queued unknown \
				critical timeline tree related regions logs loop log-groups \
				histogram concurrency levels unfinished orphans threads sched \
				sched-histogram sched-occupants wakeups losses lints summary
		else
			_asynctrace_files
		fi ;;
	*:session\ create | *:session\ list)
		_asynctrace_words "$options" ;;
	*:session\ *)
		_asynctrace_words "$(_asynctrace_sessions)" ;;
	*)
		_asynctrace_words "$options" ;;
	esac
}

complete -F _asynctrace asynctrace
