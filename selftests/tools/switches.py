#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# switches.py ASYNCTRACE FILE [LIMIT]: in a trace with scheduling of all tasks and with ftrace's
# sched:sched_switch, both must have the same switches: from which thread, to which thread, and
# whether the first one sleeps. Prints differences and fails if not.
#
# The two times of a switch differ by the code that runs between the two probes. An emulated machine
# may need any time for it, so the median is printed. If the machine's clock counts instructions, no
# distance may be longer than LIMIT nanoseconds.
import json
import statistics
import subprocess
import sys


def read(command):
    """Two dicts: times by kind of switch"""
    ours, ftrace = {}, {}
    for line in command.stdout:
        r = json.loads(line)
        a = r.get('args', {})
        if r['record'] == 'switch' and 'inferred' not in a:
            key = r['out'], r['in'], a.get('state', 0) != 0
            ours.setdefault(key, []).append(r['ts'])
        elif r['record'] == 'instant' and r['name'] == 'sched_switch':
            # The lowest byte has the states; the next bit means "preempted".
            key = a['prev_pid'], a['next_pid'], a['prev_state'] & 0xff != 0
            ftrace.setdefault(key, []).append(r['ts'])
    return ours, ftrace


def best_offset(ours, theirs):
    """Return where the list theirs fits best into the longer list ours."""
    return min(range(len(ours) - len(theirs) + 1),
               key=lambda k: sum(abs(ours[k + i] - ts) for i, ts in enumerate(theirs)))


with subprocess.Popen([sys.argv[1], 'dump', '--json', sys.argv[2]], stdout=subprocess.PIPE,
                      text=True) as dump:
    ours, ftrace = read(dump)
if not ftrace or dump.returncode:
    sys.exit('there are no switches of ftrace')
everything = [ts for times in ftrace.values() for ts in times]
first, last = min(everything), max(everything)
distances, wrong, edges = [], [], 0
for key in ours.keys() | ftrace.keys():
    mine, theirs = sorted(ours.get(key, [])), sorted(ftrace.get(key, []))
    if len(mine) < len(theirs):
        wrong.append(f'{key}: {len(theirs)} in ftrace, {len(mine)} in the module')
        continue
    k = best_offset(mine, theirs) if theirs else 0
    distances += [abs(mine[k + i] - ts) for i, ts in enumerate(theirs)]
    # The module records before ftrace begins and after it ends.
    for ts in mine[:k] + mine[k + len(theirs):]:
        if first < ts < last:
            edges += 1
            wrong.append(f'{key} at {ts}: in the module only')
print(f'{len(everything)} switches of ftrace, median distance '
      f'{statistics.median(distances) if distances else 0} ns')
# Each of the two CPUs may be in a switch when ftrace begins or ends.
if len(wrong) > edges or edges > 4:
    print(*wrong[:20], sep='\n')
    sys.exit(f'{len(wrong)} kinds or switches differ')
print(f'the longest distance is {max(distances)} ns')
if len(sys.argv) > 3 and max(distances) > int(sys.argv[3]):
    sys.exit(f'{sum(d > int(sys.argv[3]) for d in distances)} distances are longer than {sys.argv[3]} ns')
if len(everything) < 100:
    sys.exit('there are too few switches to compare')
