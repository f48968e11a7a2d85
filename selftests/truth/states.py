#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""states.py DUMP WHY FTRACE: do the states of threads agree with the kernel's own record?

DUMP: asynctrace dump --json; WHY: asynctrace why --json; FTRACE: text of the events
sched_switch and sched_waking with the clock boot, of the same run.

Both take a time in the same call of a tracepoint. So on a CPU, each stamp of an event lies
between the other's stamps of the events before and after it. No limit of time is needed. A
thread may be woken on one CPU while it leaves another: then the two need not agree on which was
first. The text of ftrace has whole microseconds."""
import json
import re
import sys
from bisect import bisect_right

LINE = re.compile(r".{16}-(\d+) +\[(\d+)\] (\S+) +(\d+)\.(\d{6}): (sched_\w+): (.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> "
                    r"next_comm=.* next_pid=(\d+) next_prio=-?\d+")
WAKING = re.compile(r"comm=.* pid=(\d+) prio=-?\d+ target_cpu=\d+")
US = 1000
FIRST_OTHER = 1 << 30       # numbers from there on are no threads


class Event:
    """kind: in, out, sleep (out, and not runnable) or wake. cpu: on which it was recorded, but of
    our wakeups, on which the thread is to run"""
    def __init__(self, ns, kind, cpu, waker=None):
        self.ns, self.kind, self.cpu, self.waker = ns, kind, cpu, waker

    def __repr__(self):
        return f"{self.ns} {self.kind} cpu {self.cpu} waker {self.waker}"


def read_ftrace(file):
    """The events of each thread, and the times of each CPU"""
    threads, cpus = {}, {}
    for line in file:
        if line.startswith("#"):
            continue
        m = LINE.match(line)
        assert m, line
        ns, cpu = int(m[4]) * 10**9 + int(m[5]) * US, int(m[2])
        cpus.setdefault(cpu, []).append(ns)
        if m[6] == "sched_switch":
            s = SWITCH.fullmatch(m[7].strip())
            assert s, line
            kind = "out" if s[2] in ("R", "R+") else "sleep"
            threads.setdefault(int(s[1]), []).append(Event(ns, kind, cpu))
            threads.setdefault(int(s[3]), []).append(Event(ns, "in", cpu))
        else:
            s = WAKING.fullmatch(m[7].strip())
            assert s, line
            interrupt = m[3][2] in "hHsZ"
            threads.setdefault(int(s[1]), []).append(
                Event(ns, "wake", cpu, None if interrupt else int(m[1])))
    return threads, cpus


def read_dump(file):
    """The events of each thread, without those that the recorder concluded"""
    threads, pids = {}, set()
    for line in file:
        r = json.loads(line)
        if r["record"] == "switch" and not r["args"].get("inferred"):
            kind = "sleep" if r["state"] else "out"
            threads.setdefault(r["out"], []).append(Event(r["ts"], kind, r["cpu"]))
            threads.setdefault(r["in"], []).append(Event(r["ts"], "in", r["cpu"]))
        elif r["record"] == "wakeup":
            threads.setdefault(r["tid"], []).append(
                Event(r["ts"], "wake", r["cpu"], r["args"].get("waker")))
        elif r["record"] == "async-begin":
            pids.add(r["tid"])
    for events in threads.values():
        events.sort(key=lambda e: e.ns)
    return threads, pids


def in_our_order(ours, theirs):
    """ftrace's events, but sleeps and wakeups of two CPUs that are next to each other as we have
    them"""
    sleeps = [i for i, e in enumerate(theirs) if e.kind == "sleep"]
    times = [theirs[i].ns for i in sleeps]
    theirs = list(theirs)
    for first, second in zip(ours, ours[1:]):
        if {first.kind, second.kind} != {"sleep", "wake"} or not sleeps:
            continue
        sleep = first if first.kind == "sleep" else second
        at = bisect_right(times, sleep.ns)
        i = min(sleeps[max(0, at - 1):at + 1], key=lambda i: abs(theirs[i].ns - sleep.ns))
        i, k = (i - 1, i) if first is sleep else (i, i + 1)
        if 0 <= i and k < len(theirs) and theirs[i].cpu != theirs[k].cpu \
                and theirs[i].kind == second.kind and theirs[k].kind == first.kind:
            theirs[i], theirs[k] = theirs[k], theirs[i]
    return theirs


def same_sequence(tid, ours, theirs, cpus):
    """Each event of ftrace from our first to our last one, no other, and at the same time"""
    first = bisect_right([e.ns for e in theirs], ours[0].ns)
    # The stamp of either side may be the earlier one.
    starts = [i for i in (first - 1, first, first + 1) if 0 <= i < len(theirs)]
    for start in starts:
        part = theirs[start:start + len(ours)]
        if [e.kind for e in part] == [e.kind for e in ours]:
            break
    else:
        raise AssertionError(f"thread {tid}: {ours} is not part of {theirs[max(0, first - 3):]}")
    far = 0
    for our, their in zip(ours, part):
        far = max(far, abs(our.ns - their.ns))
        if their.kind == "wake":
            assert our.waker == their.waker, f"thread {tid}: woken by {our.waker}, not {their}"
        else:
            assert our.cpu == their.cpu, f"thread {tid}: {our}, not {their}"
        times = cpus[their.cpu]
        at = bisect_right(times, their.ns) - 1
        before = max((t for t in times[max(0, at - 3):at] if t < their.ns), default=0)
        after = next((t for t in times[at + 1:at + 4] if t > their.ns), our.ns)
        assert before <= our.ns <= after + US, f"thread {tid}: {our}, not {their}"
    return far


def segments(events):
    """The states of a thread: their begins, in order, which, and the wakers that began them"""
    begins, states, wakers = [], [], []
    woken, now = False, 0
    for i, e in enumerate(events):
        if e.kind == "in":
            state, woken = "running", False
        elif e.kind == "wake":
            woken = True
            state = states[-1] if states and states[-1] != "blocked" else "runnable"
        else:
            # A wakeup may overtake the switch: then the thread comes back without another.
            comes = next((n.kind for n in events[i + 1:]), None) == "in"
            state = "runnable" if e.kind == "out" or (woken and comes) else "blocked"
            woken = False
        now = max(now, e.ns)
        if not states or states[-1] != state:
            begins.append(now)
            states.append(state)
            wakers.append(e.waker)
    return begins, states, wakers


def find(state, row, begins, states, _):
    """The state of ftrace that covers the row, or None. The row's begin and end, as we stamp
    them, lie between the begins of the states around."""
    last = 1 << 63
    begins = [0] + begins + [last, last]
    states = [None] + states + [None]
    at = bisect_right(begins, row["from_ns"]) - 1
    for i in range(at - 2, at + 3):
        if not 0 < i < len(states) or states[i] != state:
            continue
        if begins[i - 1] <= row["from_ns"] < begins[i + 1] + US \
                and begins[i] <= row["to_ns"] < begins[i + 2] + US:
            return i - 1
    return None


def agrees(row, histories):
    """ftrace has the row's state, and if the row names another thread, that one woke its thread
    or ran meanwhile"""
    history = histories[row["thread"]["tid"]]
    at = find(row["state"], row, *history)
    if at is None or "other" not in row or row["state"] == "running":
        return at is not None
    if row["state"] == "blocked":
        return history[2][at + 1] == row["other"]["tid"]
    return find("running", row, *histories[row["other"]["tid"]]) is not None


def main():
    lossy = sys.argv[1] == "--lossy"
    with open(sys.argv[-3]) as f:
        ours, tracing = read_dump(f)
    with open(sys.argv[-1]) as f:
        theirs, cpus = read_ftrace(f)
    theirs = {tid: in_our_order(ours.get(tid, []), events) for tid, events in theirs.items()}
    failed = records = rows = far = 0
    for tid in [] if lossy else sorted(tracing):
        records += len(ours[tid])
        try:
            far = max(far, same_sequence(tid, ours[tid], theirs[tid], cpus))
        except AssertionError as e:
            failed += 1
            print(f"# {str(e)[:600]}")
    histories = {tid: segments(events) for tid, events in theirs.items()}
    with open(sys.argv[-2]) as f:
        for op in map(json.loads, f):
            for row in op["intervals"]:
                if row["state"] not in ("running", "runnable", "blocked"):
                    continue
                rows += 1
                if not agrees(row, histories):
                    failed += 1
                    print(f"# {op['id']}: ftrace does not agree with {json.dumps(row)}")
    if not lossy:
        print(f"# {records} records; the times differ by at most {far} ns")
    print(f"# {rows} rows")
    sys.exit(failed != 0 or not rows or not (lossy or records))


main()
