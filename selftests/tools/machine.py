#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Write a trace of a random machine. This script writes the format itself and shares no code with
# the library.
#
# usage: machine.py FILE SEED [lints]
#
# With "lints", time may pass slowly or fast, and some threads wake themselves.
#
# Threads that have a CPU write durations, async events, and instants "take" and "give"
# with an argument "job", a number or a text. No two records have the same time.

import random
import struct
import sys

INSTANT, _, BEGIN, END, COMPLETE, ASYNC_BEGIN, ASYNC_INSTANT, ASYNC_END = range(8)
RUNNING, RUNNABLE, BLOCKED = range(3)
PID = 4000
NAMES = "request", "a query with a name that is longer than a column of a table for people: " + 9 * "\u00e9"


def words(data):
    return data + b"\0" * (-len(data) % 8)


def text(s):
    """A reference to inline text, and the text"""
    data = s.encode()
    return (0x8000 | len(data) if data else 0), words(data)


def argument(kind, name, value):
    ref, data = text(name)
    head = kind | ref << 16
    if kind in (1, 2):
        head |= (value & 0xffffffff) << 32
    elif kind == 6:
        value, more = text(value)
        head |= value << 32
        data += more
    else:
        data += struct.pack("<Q", value & (1 << 64) - 1)
    return struct.pack("<Q", head | (len(data) // 8 + 1) << 4) + data


def record(head, body):
    return struct.pack("<Q", head | (len(body) // 8 + 1) << 4) + body


def event(kind, ns, tid, name, extra=None, args=(), of="app"):
    category, category_data = text(of)
    ref, name_data = text(name)
    body = struct.pack("<3Q", ns, PID, tid) + category_data + name_data + b"".join(args)
    if extra is not None:
        body += struct.pack("<Q", extra)
    return record(4 | kind << 16 | len(args) << 20 | category << 32 | ref << 48, body)


def weight(name, tid):
    return argument(1, name, 0 if tid else -1 << 31)


def switch(ns, cpu, out, into, state):
    args = [weight("outgoing_weight", out), weight("incoming_weight", into),
            argument(2, "state", state)]
    return record(8 | 1 << 60 | len(args) << 16 | cpu << 20 | (3 if state else 0) << 36,
                  struct.pack("<3Q", ns, out, into) + b"".join(args))


def wakeup(ns, cpu, tid, waker):
    args = [weight("weight", tid)] + ([argument(8, "waker", waker)] if waker else [])
    return record(8 | 2 << 60 | len(args) << 16 | cpu << 20,
                  struct.pack("<2Q", ns, tid) + b"".join(args))


def head():
    name = words(b"machine")
    out = struct.pack("<Q", 0x0016547846040010)
    out += record(0 | 1 << 16 | 1 << 20 | 7 << 52, name)
    return out + record(1, struct.pack("<Q", 10 ** 9))


def thread(tid):
    ref, data = text("worker-%d" % tid)
    return record(7 | 2 << 16 | ref << 24 | 1 << 40,
                  struct.pack("<Q", tid) + data + argument(8, "process", PID))


class Machine:
    def __init__(self, rnd, lints):
        self.rnd = rnd
        self.lints = lints
        self.step = 10 ** rnd.randrange(2, 10) if lints else 2000
        self.now = rnd.randrange(1, 10 ** 6)
        self.cpus = [0] * rnd.randrange(1, 4)
        self.threads = {tid: RUNNABLE if rnd.random() < .5 else BLOCKED
                        for tid in range(101, 101 + rnd.randrange(2, 7))}
        for cpu in range(len(self.cpus)):
            if rnd.random() < .7:
                self.put(cpu, self.pick(RUNNABLE))
        self.woken = set()     # while they ran
        self.open = {tid: [] for tid in self.threads}
        self.records = []      # (ring, bytes)
        self.ids = []          # of async operations that have begun
        self.next_id = 1

    def pick(self, state):
        of = [t for t, s in self.threads.items() if s == state]
        return self.rnd.choice(of) if of else 0

    def put(self, cpu, tid):
        self.cpus[cpu] = tid
        if tid:
            self.threads[tid] = RUNNING

    def write(self, data, ring=-1):
        self.records.append((ring, data))

    def switch(self):
        cpu = self.rnd.randrange(len(self.cpus))
        out, into = self.cpus[cpu], self.pick(RUNNABLE) if self.rnd.random() < .8 else 0
        if out == into:
            return
        state = self.rnd.choice((0, 0, 1, 1, 2, 4))
        if out:
            self.threads[out] = BLOCKED if state else RUNNABLE
            # A wakeup may come before the record that the thread leaves its CPU.
            if out in self.woken and self.rnd.random() < .5:
                self.threads[out] = RUNNABLE
        self.woken -= {out, into}
        self.put(cpu, into)
        self.write(switch(self.now, cpu, out, into, state), cpu)

    def wake(self):
        awake = [t for t, s in self.threads.items() if s != BLOCKED]
        tid = self.pick(BLOCKED) if self.rnd.random() < .9 or not awake else self.rnd.choice(awake)
        if not tid:
            return
        if self.threads[tid] == BLOCKED:
            self.threads[tid] = RUNNABLE
        elif self.threads[tid] == RUNNING:
            self.woken.add(tid)
        waker = self.rnd.choice(self.cpus + [0])
        if self.lints and tid % 3 == 0 and self.rnd.random() < .6:
            waker = tid
        elif waker == tid:
            waker = 0
        cpu = self.rnd.randrange(len(self.cpus))
        self.write(wakeup(self.now, cpu, tid, waker), cpu)

    def act(self):
        running = [t for t in self.cpus if t]
        if not running:
            return
        tid = self.rnd.choice(running)
        # The thread acts after the wakeup, so the wakeup can no longer end its next sleep.
        self.woken.discard(tid)
        what = self.rnd.randrange(8)
        if what == 0:
            self.open[tid].append(len(self.records))
            self.write(event(BEGIN, self.now, tid, "work"))
        elif what == 1 and (self.open[tid] or self.rnd.random() < .1):
            self.open[tid] = self.open[tid][:-1]
            self.write(event(END, self.now, tid, "work"))
        elif what == 2:
            self.ids.append(self.next_id)
            self.write(event(ASYNC_BEGIN, self.now, tid, self.name(self.next_id), self.next_id))
            self.next_id += 1
        elif what == 3 and self.ids:
            n = self.rnd.choice(self.ids)
            self.write(event(ASYNC_INSTANT, self.now, tid, "step", n))
        elif what == 4 and self.ids:
            n = self.rnd.choice(self.ids)
            if self.rnd.random() < .9:
                self.ids.remove(n)
            self.write(event(ASYNC_END, self.now, tid, self.name(n), n))
        elif what >= 5:
            n = self.rnd.randrange(12)
            job = argument(6, "job", "job %d" % n) if n % 2 else argument(4, "job", n)
            self.write(event(INSTANT, self.now, tid, self.rnd.choice(("take", "give")),
                             args=[job] if n else []))

    def name(self, n):
        return NAMES[n % 2]

    def run(self, steps):
        for _ in range(steps):
            self.now += 1 + int(self.rnd.expovariate(1 / self.step))
            self.rnd.choice((self.switch, self.switch, self.wake, self.wake, self.act))()


def main():
    rnd = random.Random(int(sys.argv[2]))
    machine = Machine(rnd, len(sys.argv) > 3)
    machine.run(rnd.choice((30, 300, 3000)))
    with open(sys.argv[1], "wb") as f:
        f.write(head())
        for tid in machine.threads:
            f.write(thread(tid))
        at = 0
        # Rings are read one after the other, repeatedly.
        while at < len(machine.records):
            to = at + rnd.randrange(1, 100)
            for _, data in sorted(machine.records[at:to], key=lambda r: r[0]):
                f.write(data)
            at = to


if __name__ == "__main__":
    main()
