#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""states.py [--lossy] DUMP WHY FTRACE: do the states of threads agree with the kernel's own record?

DUMP: asynctrace dump --json; WHY: asynctrace why --json; FTRACE: text of the events
sched_switch and sched_waking with the clock boot, of the same run.

Both take a time in the same call of a tracepoint. So on a CPU, each stamp of an event lies
between the other's stamps of the events before and after it. No limit of time is needed. One
CPU may wake a thread while another CPU switches from or to it: then the two need not agree on
which was first. The text of ftrace has whole microseconds."""
import json
import re
import sys
from bisect import bisect_left, bisect_right

LINE = re.compile(r".{16}-(\d+) +\[(\d+)\] (\S+) +(\d+)\.(\d{6}): (sched_\w+): (.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> "
                    r"next_comm=.* next_pid=(\d+) next_prio=-?\d+")
WAKING = re.compile(r"comm=.* pid=(\d+) prio=-?\d+ target_cpu=\d+")
US = 1000


class Event:
    """kind: in, out, sleep (out and not runnable) or wake. cpu: the CPU that recorded it; for
        asynctrace's wakeups the CPU on which the thread will run. record: of an event of ftrace,
        asynctrace's record of the same; ours: its stamp."""
    def __init__(self, ns, kind, cpu, waker=None):
        self.ns, self.kind, self.cpu, self.waker = ns, kind, cpu, waker
        self.record = self.ours = None

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
    """Return the events of each thread without those that the recorder inferred, and the threads
        that traced operations."""
    threads, tracing = {}, set()
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
            tracing.add(r["tid"])
    for events in threads.values():
        events.sort(key=lambda e: e.ns)
    return threads, tracing


def bounds(event, cpus):
    """Does any stamp of this event lie between those of its neighbours on its CPU?"""
    times = cpus[event.cpu]
    low, high = bisect_left(times, event.ns), bisect_right(times, event.ns)
    return times[low - 1] if low else 0, times[high] + US if high < len(times) else 1 << 63


def settle(our, near, seen):
    """Find an event near ours that is free, or whose own record can take another one."""
    for e in sorted(near(our), key=lambda e: abs(e.ns - our.ns)):
        if id(e) in seen:
            continue
        seen.add(id(e))
        if e.record is None or settle(e.record, near, seen):
            e.record, e.ours = our, our.ns
            return True
    return False


def match(tid, ours, theirs, cpus):
    """Set .record of ftrace's events that asynctrace has, too. Between the two stamps of an event
        the machine may have done something else, so the nearest need not be the same."""
    kinds = {}
    for e in theirs:
        kinds.setdefault((e.kind, e.waker if e.kind == "wake" else e.cpu), []).append(e)

    def around(our):
        same = kinds.get((our.kind, our.waker if our.kind == "wake" else our.cpu), [])
        at = bisect_right(same, our.ns, key=lambda e: e.ns)
        return same[max(0, at - 2):at + 2]

    def near(our):
        return [e for e in around(our) if bounds(e, cpus)[0] <= our.ns <= bounds(e, cpus)[1]]

    for our in ours:
        assert settle(our, near, set()), f"thread {tid}: ftrace does not have {our}, but {around(our)}"


def unordered(a, b, before):
    """Does the kernel leave open which of these events of a thread, at different CPUs, is first?
        A wakeup is recorded without the lock of the run queue, so the thread may be preempted,
        continue or go to sleep meanwhile. It cannot return from sleep meanwhile: it waits for the
        wakeup. before: the thread's last switch before the two events."""
    if a.cpu == b.cpu or (a.kind == "wake") == (b.kind == "wake"):
        return False
    return "in" not in (a.kind, b.kind) or (before is not None and before.kind == "out")


def in_our_order(theirs):
    """Return the events in order; in asynctrace's order where the kernel leaves the order open."""
    events = []
    for e in theirs:
        events.append(e)
        for i in range(len(events) - 1, 0, -1):
            a, b = events[i - 1:i + 1]
            before = next((e for e in reversed(events[:i - 1]) if e.kind != "wake"), None)
            if not (a.ours and b.ours and b.ours < a.ours and unordered(a, b, before)):
                break
            events[i - 1:i + 1] = b, a
    return events


def is_complete(tid, theirs):
    """asynctrace has all events from its first to its last one, in order."""
    have = [i for i, e in enumerate(theirs) if e.ours]
    part = theirs[have[0]:have[-1] + 1]
    missing = [e for e in part if not e.ours]
    assert not missing, f"thread {tid}: we do not have {missing[:3]}"
    for a, b in zip(part, part[1:]):
        assert a.ours <= b.ours, f"thread {tid}: {a} (ours {a.ours}) is before {b} (ours {b.ours})"


class Segment:
    """A state of a thread, and bounds of asynctrace's stamp of the event that began it"""
    def __init__(self, state, event, cpus):
        self.state, self.waker = state, event.waker
        self.low, self.high = (min(event.ns, event.ours), max(event.ns + US, event.ours)) \
            if event.ours else bounds(event, cpus)


def segments(events, cpus):
    found, woken = [], False
    for i, e in enumerate(events):
        if e.kind == "in":
            state, woken = "running", False
        elif e.kind == "wake":
            woken = True
            state = found[-1].state if found and found[-1].state != "blocked" else "runnable"
        else:
            # A wakeup may overtake the switch: then the thread comes back without another wakeup.
            comes = i + 1 < len(events) and events[i + 1].kind == "in"
            state = "runnable" if e.kind == "out" or (woken and comes) else "blocked"
            woken = False
        if not found or found[-1].state != state:
            found.append(Segment(state, e, cpus))
    return found


def covering(state, row, history):
    """Return the indices of ftrace's states that may cover the row. Lower bounds of events on two
        CPUs need not ascend, so each state is checked."""
    ends = [s.high for s in history[1:]] + [1 << 63]
    return [i for i, (s, end) in enumerate(zip(history, ends))
            if s.state == state and s.low <= row["from_ns"] and row["to_ns"] <= end]


def agrees(row, histories):
    """Does ftrace have the row's state? If the row names another thread, that one must have woken
        the thread or run meanwhile."""
    history = histories[row["thread"]["tid"]]
    found = covering(row["state"], row, history)
    if not found or "other" not in row or row["state"] == "running":
        return bool(found)
    if row["state"] == "blocked":
        return any(s.waker == row["other"]["tid"] for i in found for s in history[i + 1:i + 2])
    return bool(covering("running", row, histories[row["other"]["tid"]]))


def main():
    lossy = sys.argv[1] == "--lossy"
    with open(sys.argv[-3]) as f:
        ours, tracing = read_dump(f)
    with open(sys.argv[-1]) as f:
        theirs, cpus = read_ftrace(f)
    said, rows = [], 0
    for tid in ours.keys() & theirs.keys():
        try:
            match(tid, ours[tid], theirs[tid], cpus)
            theirs[tid] = in_our_order(theirs[tid])
            if tid in tracing and not lossy:
                is_complete(tid, theirs[tid])
        except AssertionError as e:
            said.append(str(e)[:600])
    histories = {tid: segments(events, cpus) for tid, events in theirs.items()}
    with open(sys.argv[-2]) as f:
        for op in map(json.loads, f):
            for row in op["intervals"]:
                if row["state"] in ("running", "runnable", "blocked"):
                    rows += 1
                    if not agrees(row, histories):
                        said.append(f"{op['id']}: ftrace does not agree with {json.dumps(row)}")
    far = [abs(e.ours - e.ns) for events in theirs.values() for e in events if e.ours]
    print(f"# {len(far)} records, {max(far, default=0)} ns apart at most; {rows} states")
    for line in said:
        print(f"# {line}")
    sys.exit(bool(said) or not far or not rows)


main()
