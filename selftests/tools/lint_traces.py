#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Write traces that have one lint, and traces just below its bound.
#
# usage: lint_traces.py DIRECTORY
#
# Writes LINT-CASE.fxt for each case, for instance self-wake-11-of-21.fxt.

import os
import sys

from machine import (ASYNC_BEGIN, ASYNC_END, ASYNC_INSTANT, BEGIN, event, head, switch, thread,
                     wakeup)

MS = 10 ** 6
S = 10 ** 9
SLEEPS, STOPS, DISK, EXITS, PREEMPTED = 1, 4, 2, 0x10, 0


class Trace:
    def __init__(self, name, *tids):
        self.path = os.path.join(sys.argv[1], name + ".fxt")
        self.data = head() + b"".join(thread(t) for t in tids)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with open(self.path, "wb") as f:
            f.write(self.data)

    def put(self, *records):
        self.data += b"".join(records)

    def end(self, ns):
        """Another thread lives to the end of the trace."""
        self.put(switch(ns, 3, 0, 999, 0))


def self_wakes(name, own, others):
    """Wakeups of thread 101 while it runs"""
    with Trace(name, 101, 102) as t:
        t.put(switch(10, 0, 0, 101, 0))
        for i in range(own):
            t.put(wakeup(100 + i, 0, 101, 101))
        for i in range(others):
            t.put(wakeup(1000 + i, 0, 101, 102))
        t.end(2000)


def turn(name, ns, state=PREEMPTED, tell=0):
    """
    Thread 101 runs until half of "ns", leaves its CPU for 5 s, and runs the other half. "tell":
    the first thing that tells of it is a switch from another thread.
    """
    half = ns // 2
    with Trace(name, 101) as t:
        t.put(switch(10, 0, tell, 101, 0), switch(10 + half, 0, 101, 0, state))
        if state:
            t.put(wakeup(10 + half + 5 * S - 1, 0, 101, 0))
        t.put(switch(10 + half + 5 * S, 0, tell, 101, 0),
              switch(10 + ns + 5 * S, 0, 101, 0, SLEEPS))
        t.end(20 * S)


def sleep(name, ns, state=SLEEPS, ends=False, other=False):
    """
    Thread 101 sleeps for "ns" to the end of the trace in a duration that works on operation 7.
    "other": thread 102 works on it, too, and waits for a CPU.
    """
    with Trace(name, 101, 102) as t:
        t.put(switch(10, 0, 0, 101, 0), event(BEGIN, 20, 101, "work"),
              event(ASYNC_BEGIN, 30, 101, "job", 7))
        if other:
            t.put(switch(31, 1, 0, 102, 0), event(BEGIN, 32, 102, "work"),
                  event(ASYNC_INSTANT, 33, 102, "step", 7), switch(34, 1, 102, 0, PREEMPTED))
        t.put(switch(40, 0, 101, 0, state))
        if ends:
            t.put(wakeup(40 + ns - 3, 0, 101, 0), switch(40 + ns - 2, 0, 0, 101, 0),
                  event(ASYNC_END, 40 + ns - 1, 101, "job", 7))
        t.end(40 + ns)


def herd(name, nr=3, gap=10, run=50000, works=1, waker=100, distance=0, hidden=False):
    """
    Thread "waker" wakes "nr" others, "gap" ns after each other. All of them run for "run" ns at
    most; "works" of them work on an operation.
    """
    tids = range(101, 101 + nr)
    with Trace(name, 100, *tids) as t:
        for i, tid in enumerate(tids):
            t.put(switch(10 + i, 1, 0, tid, 0), switch(1000 + i, 1, tid, 0, SLEEPS))
        for i, tid in enumerate(tids):
            t.put(wakeup(10000 + gap * i + (distance if i + 1 == nr else 0), 1, tid, waker))
        now = 10 * MS
        for i, tid in enumerate(tids):
            t.put(switch(now, 1, 0, tid, 0))
            if i < works:
                t.put(event(ASYNC_BEGIN, now + 1, tid, "job", 20 + i),
                      event(ASYNC_END, now + 2, tid, "job", 20 + i))
            t.put(switch(now + run, 1, tid, 0, SLEEPS))
            now += MS
        t.end(now)


def types(name, nr):
    with Trace(name, 101) as t:
        for i in range(nr):
            t.put(event(ASYNC_BEGIN, 10 * MS * i + 10, 101, "job-%d" % i, 7),
                  event(ASYNC_END, 10 * MS * i + 20, 101, "job-%d" % i, 7))


def burst(name, nr, last=MS - 1, times=1, names=1):
    """Operations that begin within "last" ns, "times" times"""
    with Trace(name, 101) as t:
        for k in range(times):
            for i in range(nr):
                t.put(event(ASYNC_BEGIN, 10 * S * k + 10 + last * i // (nr - 1), 101,
                            "job%d" % (i % names), 1 + i + nr * k))
            for i in range(nr):
                t.put(event(ASYNC_END, 10 * S * k + 5 * S + i, 101, "job%d" % (i % names),
                            1 + i + nr * k))


self_wakes("self-wake-11-of-21", 11, 10)
self_wakes("self-wake-10-of-20", 10, 10)
self_wakes("self-wake-10-of-10", 10, 0)
self_wakes("self-wake-9-of-9", 9, 0)
turn("never-yields-1s", S)
turn("never-yields-below-1s", S - 2)
turn("never-yields-with-sleep", S, SLEEPS)
turn("never-yields-unfollowed", S, PREEMPTED, 555)
sleep("lost-wake-1s", S)
sleep("lost-wake-exited", S, EXITS)
sleep("lost-wake-below-1s", S - 1)
sleep("lost-wake-stopped", S, STOPS)
sleep("lost-wake-disk", S, DISK)
sleep("lost-wake-woken", S, SLEEPS, True)
sleep("lost-wake-other-runnable", S, SLEEPS, False, True)
herd("herd-3")
herd("herd-interrupt", waker=0)
herd("herd-2", nr=2)
herd("herd-all-idle", works=0)
herd("herd-two-work", works=2)
herd("herd-100us", distance=100000 - 20)
herd("herd-after-100us", distance=100000 - 20 + 1)
herd("herd-runs-100us", run=100000)
herd("herd-runs-longer", run=100001)
types("many-types-1001", 1001)
types("many-types-1000", 1000)
burst("creation-burst-1000", 1000)
burst("creation-burst-999", 999)
burst("creation-burst-1ms", 1000, MS)
burst("creation-burst-1500-twice", 1500, 2 * MS // 3, 2)
burst("creation-burst-two-types", 1998, MS - 1, 1, 2)
