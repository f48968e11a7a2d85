#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# instance.py ASYNCTRACE FILE TEXT [--all PID...] -- NAME...: does the trace FILE have the same
# events of the kernel's tracepoints as another ftrace instance, whose text is in TEXT? That
# instance recorded all threads, from before the recording until after it.
#
# For each name of an event and each thread, or the idle task of a CPU, the events of FILE must be
# consecutive events of TEXT, with the same values. Events of several names may be in another
# order: an interrupt may come between the two writes of an event to the two instances. --all: the
# last events of the threads PID before exit_group(2) are in FILE, too. Later ones may be missing,
# because the kernel no longer follows a thread that exits. There must be events of each NAME.
# Prints the number of events of each name.
import collections
import json
import re
import subprocess
import sys

LINE = re.compile(r'.{16}-(\d+) +\[(\d+)\] (?:\S{4,5} +)?(\d+)\.(\d{6}): (\w+): ?(.*)')
NUMBER = re.compile(r'(\w+)=(-?\d+)(?![\w.])')


def same(ours, theirs):
    """Have both the same name and, where the text prints a field as a number, the same value?"""
    return ours[1] == theirs[1] and all(str(ours[2][k]) == v for k, v in theirs[2].items()
                                        if isinstance(ours[2].get(k), int))


def read_trace(tool, path):
    """Events by thread and name: (time, name, fields)"""
    idle, threads = {}, collections.defaultdict(list)
    with subprocess.Popen([tool, 'dump', '--json', path], stdout=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout:
            r = json.loads(line)
            if r['record'] == 'thread' and re.fullmatch(r'cpu-\d+ idle', r['name']):
                idle[r['koid']] = ('cpu', int(r['name'][4:-5]))
            elif (r["record"], r["provider"]) == ("instant", 1) and r["category"] != "asynctrace":
                tid = idle.get(r['tid'], r['tid'])
                threads[tid, r['name']].append((r['ts'], r['name'], r.get('args', {})))
    if dump.returncode:
        sys.exit('the dump failed')
    # The buffers of CPUs are read one after the other, and a thread moves between CPUs.
    for events in threads.values():
        events.sort(key=lambda event: event[0])
    return threads


def read_text(path):
    threads = collections.defaultdict(list)
    with open(path) as text:
        for line in text:
            if line.startswith('#'):
                continue
            m = LINE.match(line)
            if not m:
                sys.exit(f'not understood: {line}')
            tid = int(m[1]) or ('cpu', int(m[2]))
            threads[tid, m[5]].append((int(m[3]) * 10**9 + int(m[4]) * 1000, m[5],
                                       dict(NUMBER.findall(m[6]))))
    return threads


def find(ours, theirs):
    """Return where the events are in the other list, and how many of them are.

    Interrupts of a timer all have the same values, so only their times tell which of the places
    is the right one: it is the place whose first and last times differ least.
    """
    def apart(at):
        return abs(ours[0][0] - theirs[at][0]) + abs(ours[-1][0] - theirs[at + len(ours) - 1][0])

    best = 0, 0
    for at in sorted(range(len(theirs) - len(ours) + 1), key=apart):
        if abs(ours[0][0] - theirs[at][0]) > 10**9:
            continue
        equal = next((i for i, o in enumerate(ours) if not same(o, theirs[at + i])), len(ours))
        if equal > best[1]:
            best = at, equal
        if equal == len(ours):
            break
    return best


def end_of(instance, tid):
    """Return the time at which the thread called exit_group(2)."""
    return min((time for time, _, _ in instance.get((tid, 'sys_enter'), [])), default=float('inf'))


def main():
    tool, path, text, *rest = sys.argv[1:]
    split = rest.index('--')
    everything, names = [int(pid) for pid in rest[1:split]], rest[split + 1:]
    trace, instance = read_trace(tool, path), read_text(text)
    counts, wrong = collections.Counter(), []
    for (tid, name), ours in trace.items():
        theirs = instance.get((tid, name), [])
        counts[name] += len(ours)
        at, equal = find(ours, theirs)
        if equal < len(ours):
            wrong.append(f'{tid}: {len(ours)} events, of {len(theirs)}. Event {equal} differs: '
                         f'{ours[equal]}, {theirs[at + equal:at + equal + 1]}')
        if tid in everything:
            end = end_of(instance, tid)
            missing = sum(time < end for time, _, _ in theirs[at + len(ours):])
            if missing:
                wrong.append(f'{tid}: the last {missing} events of {name} are missing')
    first = {pid: min((events[0][0] for (tid, _), events in trace.items() if tid == pid),
                      default=None) for pid in everything}
    wrong += [f'{pid}: no event' for pid in everything if first[pid] is None]
    for (tid, name), theirs in instance.items():
        # TEXT has truncated times (us): an event with a time after first[tid] is certainly later.
        if first.get(tid) is not None and (tid, name) not in trace and name != 'sys_enter' and \
                any(first[tid] < time < end_of(instance, tid) for time, _, _ in theirs):
            wrong.append(f'{tid}: no event {name}')
    wrong += [f'there is no {name}' for name in names if not counts[name]]
    for name, count in sorted(counts.items()):
        print(f'{count} {name}')
    print(*wrong, sep='\n')
    sys.exit(bool(wrong))


main()
