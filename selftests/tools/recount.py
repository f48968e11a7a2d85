#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Recount the numbers of asynctrace report from the records of asynctrace dump --json.
#
# usage: recount.py ASYNCTRACE FILE WHAT
#
# Prints differences; exits with 1 if there are any.

import gzip
import json
import subprocess
import sys
from collections import Counter, defaultdict

AT, FILE, WHAT = sys.argv[1:4]
wrong = 0


def run(*args):
    done = subprocess.run((AT,) + args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    # asynctrace why exits with 1 if it finds no operation.
    none = args[0] == "why" and not done.stdout
    same("exit status of " + " ".join(args), done.returncode, 1 if none else 0)
    return done.stdout


def lines(*args):
    return [json.loads(line) for line in run(*args).decode().splitlines()]


def report(what, *options):
    return lines("report", "--json", *options, FILE, *what.split())


def same(name, got, want):
    global wrong
    if got != want:
        wrong = 1
        print("%s: %s instead of %s" % (name, got, want))


def rank(sorted_list, per_mille):
    """Nearest rank"""
    if not sorted_list:
        return None
    return sorted_list[max(-(-per_mille * len(sorted_list) // 1000), 1) - 1]


records = sorted((r for r in lines("dump", "--json", FILE) if "ts" in r), key=lambda r: r["ts"])
BEGIN, END = records[0]["ts"], max(r.get("end", r["ts"]) for r in records)


# --- scheduling ----------------------------------------------------------------------

class Thread:
    def __init__(self):
        self.ns = Counter()
        self.counts = Counter()
        self.state = self.since = self.cpu = None
        self.inferred = True
        self.late = False      # its state follows from a later record
        self.seen = None       # its first event
        self.sign = None       # its first record or event: it may not exist before
        self.waits = []        # (from, to, cpu)
        self.followed = False  # all its switches are recorded, not only some
        self.woken = False     # while it ran, or if that is unknown
        self.woken_at = None   # latest wakeup while its state was unknown
        self.wakeups = []      # (waker, state before)
        self.called = None     # (waker, time) of the wakeup that ended its last sleep
        self.latencies = defaultdict(list)
        self.spans = []        # (begin, end, state, reason, inferred)
        self.followed_at = END
        self.turns = []        # (begin, sleep, end, ns that it ran, reason of the sleep)
        self.turn = None       # (begin, ns that it ran)

    def change(self, ns, before, state, why=None):
        if self.state is None:
            self.state, self.why = before, None
            self.first_sign(ns)
        if self.state == "asleep or not":
            # If the thread came back without a wakeup, it was woken while it left its CPU.
            self.state, self.why = before, self.why if before == "blocked" else "woken"
            self.late = before == "runnable"
        if self.state == "unknown":
            if before == "runnable":
                self.add(self.woken_at)
                self.since = self.woken_at
            self.state, self.inferred = before, True
        if before == "runnable" and state == "running" and not self.inferred:
            self.waits.append((self.since, ns))
        self.add(ns)
        self.state, self.since, self.why, self.inferred = state, ns, why, False
        if state == "blocked" and self.woken:
            self.state = "asleep or not"
        self.woken = self.late = False

    def first_sign(self, ns):
        self.sign = ns if self.seen is None else self.seen
        self.since = BEGIN if self.seen is None else self.seen

    def wake(self, ns, waker):
        self.wakeups.append((waker, self.state or "unknown"))
        if self.state is None:
            # It may have slept, or may still run: only its next switch shows that.
            self.state, self.why, self.inferred = "unknown", None, False
            self.first_sign(ns)
        if self.state in ("blocked", "asleep or not"):
            self.called = waker, ns
            self.change(ns, "blocked", "runnable", "woken")
        elif self.state == "unknown":
            self.woken, self.woken_at = True, ns
        elif self.state == "running":
            self.woken = True

    def come(self, ns):
        self.change(ns, "runnable", "running")
        if self.called:
            waker, at = self.called
            self.latencies[waker].append((at, ns))
            self.called = None

    def event(self, ns):
        """It runs, and did not sleep after earlier wakeups."""
        self.follow(ns)
        # A begin at the trace's begin may stand for an earlier one: skip it.
        if self.state is None and self.seen is None and ns > BEGIN:
            self.seen = ns
        if self.state == "unknown":
            self.state, self.inferred = "running", True
        self.woken = False

    def follow(self, ns):
        if not self.followed:
            self.followed, self.followed_at = True, ns

    def add_turn(self, ns):
        """The state since self.since ends. If it was a sleep, or may have been, the turn ends."""
        begin, ran = self.turn or (self.since, 0)
        if self.state == "running":
            ran += max(0, ns - max(self.since, self.followed_at))
        self.turn = begin, ran
        if self.state in ("blocked", "unknown"):
            self.turns.append((begin, self.since, ns, ran,
                               self.why or "sleep" if self.state == "blocked" else None))
            self.turn = ns, 0

    def add(self, ns):
        self.add_turn(ns)
        self.spans.append((max(self.since, self.sign), ns, self.state, self.why,
                           self.inferred or self.late))

    def count(self):
        """Before it was followed, only the time after recorded switches to it is known."""
        for begin, end, state, why, inferred in self.spans:
            known = min(max(self.followed_at, begin), end)
            ran = state == "running" and not inferred
            self.ns["observed"] += end - begin
            self.ns["running" if ran else "unknown"] += known - begin
            self.ns[state] += end - known
            if why:
                self.ns[why] += end - known
            if inferred:
                self.ns["inferred"] += end - known


def threads():
    """All threads, and the thread that had each CPU at each time"""
    of, cpus = defaultdict(Thread), defaultdict(list)
    for r in records:
        ns = r["ts"]
        if r["record"] == "switch":
            state = r["args"]["state"]
            cpus[r["cpu"]].append((ns, r["in"]))
            if r["out"]:
                t = of[r["out"]]
                t.change(ns, "running", "blocked" if state else "runnable",
                         ("disk" if state & 2 else "stopped" if state & 12 else None)
                         if state else "preempted")
                t.counts["voluntary" if state else "preempted"] += 1
                t.cpu = r["cpu"]
            if r["in"]:
                t = of[r["in"]]
                # The idle task is not followed: its switches are recorded because of the other.
                if not r["out"]:
                    t.follow(ns)
                t.come(ns)
                t.counts["migrations"] += t.cpu not in (None, r["cpu"])
                t.cpu = r["cpu"]
                if t.waits and t.waits[-1][1] == ns:
                    t.waits[-1] += (r["cpu"],)
        elif r["record"] == "wakeup":
            t = of[r["tid"]]
            t.counts["wakeups"] += 1
            if "waker" in r["args"]:
                of[r["args"]["waker"]].counts["wakes"] += 1
            t.follow(ns)
            t.wake(ns, r["args"].get("waker", 0))
        # The analysis ignores instants and counters, which belong to no operation.
        elif "tid" in r and r["record"] not in ("instant", "counter"):
            of[r["tid"]].event(ns)
    for t in of.values():
        if t.state == "asleep or not":
            t.state, t.why = "unknown", None
        if t.state:
            t.add(END)
            if t.state not in ("blocked", "unknown"):
                t.turns.append((t.turn[0], END, END, t.turn[1], None))
        t.count()
    return {tid: t for tid, t in of.items() if t.state or t.counts["wakes"]}, cpus


def occupants(history, begin, end):
    """The threads that had the CPU, and for how long; None: no record shows it"""
    ns = Counter()
    before = None
    for at, who in history + [(1 << 64, None)]:
        if at > begin:
            ns[before] += min(at, end) - begin
            begin = at
        if at >= end:
            return ns
        before = who


def check_threads():
    want, _ = threads()
    got = {r["tid"]: r for r in report("threads")}
    same("threads", sorted(got), sorted(want))
    for tid, t in want.items():
        r = got.get(tid)
        if not r:
            continue
        same("%d: sum" % tid, r["running_ns"] + r["woken_ns"] + r["preempted_ns"] + r["blocked_ns"] +
             r["unknown_ns"], r["observed_ns"])
        for key in ("observed", "running", "blocked", "disk", "preempted", "inferred", "unknown"):
            same("%d: %s" % (tid, key), r[key + "_ns"], t.ns[key])
        same("%d: woken" % tid, r["woken_ns"], t.ns["runnable"] - t.ns["preempted"])
        for key in ("voluntary", "preempted", "migrations", "wakeups", "wakes"):
            same("%d: %s" % (tid, key), r[key], t.counts[key])


def check_histogram(name, rows, samples):
    same(name + ": samples", sum(r["count"] for r in rows), len(samples))
    for i, r in enumerate(rows):
        same("%s: %d ns" % (name, r["from_ns"]), r["count"],
             sum(r["from_ns"] <= s < r["to_ns"] for s in samples))
        if i:
            same(name + ": gap", r["from_ns"], rows[i - 1]["to_ns"])
    same(name + ": shares", abs(sum(r["share"] for r in rows) - 1) < 1e-4, bool(rows) or None)


def check_sched():
    want, cpus = threads()
    got = {r["tid"]: r for r in report("sched")}
    buckets = defaultdict(list)
    for r in report("sched-histogram"):
        buckets[r["tid"]].append(r)
    behind = defaultdict(Counter)
    for r in report("sched-occupants"):
        behind[r["tid"]][r["behind_tid"] or (None if r["behind"] == "not known" else 0)] += r["ns"]
    want = {tid: t for tid, t in want.items() if t.followed}
    same("threads", sorted(got), sorted(want))
    for tid, t in want.items():
        exact = [w for w in t.waits if w[0] >= t.followed_at]
        waits = sorted(w[1] - w[0] for w in exact)
        others = Counter()
        for begin, end, cpu in exact:
            others += occupants(cpus[cpu], begin, end)
        r = got[tid]
        same("%d: waits" % tid, r["waits"], len(waits))
        same("%d: sum" % tid, r["sum_ns"], sum(waits))
        for key, p in (("p50_ns", 500), ("p99_ns", 990), ("max_ns", 1000)):
            same("%d: %s" % (tid, key), r[key], rank(waits, p))
        for key in ("voluntary", "preempted", "migrations"):
            same("%d: %s" % (tid, key), r[key], t.counts[key])
        same("%d: behind" % tid, dict(behind[tid]), dict(others))
        if waits:
            check_histogram("%d: histogram" % tid, buckets[tid], waits)


def check_wakeups():
    of, _ = threads()
    pairs, awake = Counter(), Counter()
    for tid, t in of.items():
        for waker, before in t.wakeups:
            pairs[waker, tid] += 1
            awake[waker, tid] += before in ("running", "runnable")
    got = {(r["waker_tid"], r["woken_tid"]): r for r in report("wakeups")}
    same("pairs", sorted(got), sorted(pairs))
    for (waker, tid), r in got.items():
        pair, t = (waker, tid), of[tid]
        ns = sorted(ran - at for at, ran in t.latencies[waker] if at >= t.followed_at)
        same("%s: count" % (pair,), (r["count"], r["awake"]), (pairs[pair], awake[pair]))
        same("%s: latency" % (pair,), (r["p50_ns"], r["p99_ns"], r["max_ns"], r["sum_ns"]),
             (rank(ns, 500), rank(ns, 990), rank(ns, 1000), sum(ns)))


# --- operations ------------------------------------------------------------------------

def operations():
    """Complete operations as (name, begin, end); the end of open ones is END"""
    of, began = [], {}
    for r in records:
        key = r.get("name"), r.get("id")
        if r["record"] == "async-begin":
            began.setdefault(key, []).append(r["ts"])
        elif r["record"] == "async-end" and began.get(key):
            of.append((r["name"], began[key].pop(), r["ts"], True))
    return of + [(key[0], ns, END, False) for key, list_ in began.items() for ns in list_]


def check_operations():
    latencies = defaultdict(list)
    for name, begin, end, complete in operations():
        if complete:
            latencies["app/" + name].append(end - begin)
    got = {r["type"]: r for r in report("operations") if r["count"]}
    same("types", sorted(got), sorted(latencies))
    rows = report("histogram")
    for name, r in got.items():
        ns = sorted(latencies[name])
        same(name, [r[k] for k in ("count", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")],
             [len(ns)] + [rank(ns, p) for p in (500, 900, 990, 999, 1000)])
        check_histogram(name, [b for b in rows if b["type"] == name], ns)


def check_levels():
    spans = defaultdict(list)
    for name, begin, end, _ in operations():
        spans["app/" + name].append((begin, end))
    rows, got = report("levels"), {r["type"]: r for r in report("concurrency")}
    same("types", sorted(got), sorted(spans))
    for name, of in spans.items():
        want, level, max_, max_at = Counter(), 0, 0, 0
        edges = sorted([(b, 1) for b, _ in of] + [(e, -1) for _, e in of] + [(BEGIN, 0), (END, 0)])
        for (ns, step), (next_, _) in zip(edges, edges[1:]):
            level += step
            want[level] += next_ - ns
            if level > max_ and next_ > ns:
                max_, max_at = level, ns - BEGIN
        want = +want
        levels = {r["level"]: r["ns"] for r in rows if r["type"] == name}
        same(name + ": levels", levels, dict(want))
        same(name + ": whole", sum(levels.values()), END - BEGIN)
        r = got[name]
        same(name, (r["count"], r["max"], r["max_at_ns"]), (len(of), max_, max_at))
        mean = sum(e - b for b, e in of) / (END - BEGIN)
        same(name + ": mean", abs(r["mean"] - mean) < 1e-6, True)
        same(name + ": shares", abs(r["none"] + r["one"] + r["more"] - 1) < 3e-6, True)


def check_orphans():
    want, began, stacks = Counter(), defaultdict(list), defaultdict(list)
    for r in records:
        kind, key = r["record"], (r.get("name"), r.get("id"))
        place = r["ts"] - BEGIN, r.get("tid")
        if kind == "async-begin":
            began[key].append(place)
        elif kind == "async-end" and began[key]:
            began[key].pop()
        elif kind == "async-end":
            want["end without begin", *place] += 1
        elif kind == "async-instant":
            if not any(of for (_, id_), of in began.items() if id_ == r["id"]):
                want["instant of an operation that is not open", *place] += 1
        elif kind == "begin":
            stacks[r["tid"]].append(place)
        elif kind == "end" and stacks[r["tid"]]:
            stacks[r["tid"]].pop()
        elif kind == "end":
            want["duration's end without begin", *place] += 1
    for name, of in ("begin without end", began), ("duration's begin without end", stacks):
        want.update((name, *place) for places in of.values() for place in places)
    same("orphans", Counter((r["what"], r["at_ns"], r["tid"]) for r in report("orphans")), want)
    same("summary", report("summary")[0]["orphans"], sum(want.values()))


def check_timeline():
    for why in lines("why", "--json", "--slowest", "20", FILE):
        same("intervals", [(r["from_ns"], r["to_ns"], r["state"])
                           for r in report("timeline " + why["id"])],
             [(i["from_ns"] - why["begin_ns"], i["to_ns"] - why["begin_ns"], i["state"])
              for i in why["intervals"]])
        text = run("report", FILE, "timeline", why["id"]).decode().splitlines()
        pictures = [line[24:].ljust(76) for line in text[3:] if line]
        same("width", max(map(len, text)) <= 100, True)
        if why["latency_ns"] < 76:
            continue
        same("path", " " in pictures[-1], False)
        for column in zip(*pictures[:-1]):
            same("column", set(column) == {" "}, False)
        marks = dict(zip("#r.q?", ("running", "runnable", "blocked", "queued", "unknown")))
        seen = {marks[c] for c in "".join(pictures).replace(" ", "")}
        same("states", seen <= {i["state"] for i in why["intervals"] + why["critical_path"]}, True)


def check_time():
    middle = (BEGIN + END) // 2
    got = report("operations", "--from", "0s", "--to", str(middle))
    want = Counter("app/" + name for name, begin, _, complete in operations()
                   if begin < middle and complete)
    same("before", {r["type"]: r["count"] for r in got if r["count"]}, dict(want))
    got = report("operations", "--from", "%dns" % (middle - BEGIN))
    want = Counter("app/" + name for name, begin, _, complete in operations()
                   if begin >= middle and complete)
    same("after", {r["type"]: r["count"] for r in got if r["count"]}, dict(want))


def check_window():
    """Records that are too late for a small window: the file is read twice, with the same rows."""
    for what in ("operations", "blame", "histogram", "concurrency", "orphans", "threads", "sched",
                 "sched-occupants", "wakeups"):
        same(what, report(what, "--window", "16"), report(what))
    small = lines("report", "--json", "--window", "16", "diff", FILE, FILE)
    same("diff", small, lines("report", "--json", "diff", FILE, FILE))


# --- pairs -----------------------------------------------------------------------------

class Pair:
    def __init__(self, key, begin):
        self.key, self.begin, self.end = key, begin, None
        self.works = []        # [begin, end] of durations that enclose an event


def pairs(start, done):
    """Operations from "start" to "done" with the same job, and the number of "done" alone"""
    stacks, began, of = defaultdict(list), {}, []
    without = 0
    for r in records:
        stack = stacks[r.get("tid")]
        if r["record"] == "begin":
            stack.append([r["ts"], 1 << 64])
        elif r["record"] == "end" and stack:
            stack.pop()[1] = r["ts"]
        if r["record"] != "instant" or r["name"] not in (start, done):
            continue
        key = r["args"].get("job")
        if key is None:
            continue
        if r["name"] == done:
            p = began.pop(key, None)
            if p:
                p.end = r["ts"]
                p.works += stack[-1:]
            else:
                without += 1
        if r["name"] == start:
            began[key] = Pair(key, r["ts"])
            began[key].works += stack[-1:]
            of.append(began[key])
    return of, without


def covered(intervals, begin, end):
    ns = 0
    for from_, to in sorted(intervals):
        from_, to = max(from_, begin), min(to, end)
        if from_ < to:
            ns += to - from_
            begin = to
    return ns


def shown(key):
    return key if isinstance(key, str) else hex(key)


def check_pair():
    for start, done in (("take", "give"), ("give", "take"), ("take", "take")):
        of, without = pairs(start, done)
        options = "--pair", "%s:app/%s" % (start, done), "--key", "job"
        want = sorted((shown(p.key), p.begin, p.end - p.begin,
                       p.end - p.begin - covered(p.works, p.begin, p.end))
                      for p in of if p.end is not None)
        got = sorted((r["id"], r["begin_ns"], r["latency_ns"], r["queued_ns"])
                     for r in lines("why", "--json", "--slowest", "1000000", *options, FILE))
        same("operations", got, want)
        summary = report("summary", *options)[0]
        orphans = Counter(r["what"] for r in report("orphans", *options))
        same("summary", (summary["complete"], summary["incomplete"]),
             (len(want), len(of) - len(want)))
        same("orphans", (summary["orphans"], orphans["end without begin"]),
             (sum(orphans.values()), without))
        same("unfinished", sorted(r["id"] for r in report("unfinished", *options)),
             sorted(shown(p.key) for p in of if p.end is None))
        for id_ in {w[0] for w in want}:
            same("by id", len(lines("why", "--json", *options, FILE, id_)),
                 sum(shown(p.key) == id_ for p in of))


# --- stacks ------------------------------------------------------------------------------

def varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        n |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return n, at


def fields(data):
    """The fields of a protobuf message: numbers, and bytes."""
    of, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        elif key & 7:
            raise ValueError("wire type %d" % (key & 7))
        of[key >> 3].append(value)
    return of


def numbers(data):
    of, at = [], 0
    while at < len(data):
        n, at = varint(data, at)
        of.append(n)
    return of


def pprof(what):
    """(frames from the root on, values by name) of each sample, by the numbers of profile.proto"""
    p = fields(gzip.decompress(run("report", "--pprof", FILE, what)))
    strings = [s.decode() for s in p[6]]
    same("first string", strings[0], "")
    types = [strings[fields(t)[1][0]] for t in p[1]]
    units = {strings[fields(t)[1][0]]: strings[fields(t)[2][0]] for t in p[1]}
    same("units", units, {t: "count" if t == "count" else "nanoseconds" for t in types})
    same("default", strings[p[14][0]], "time")
    same("duration", p[10], [END - BEGIN])
    functions = {}
    for f in map(fields, p[5]):
        functions[f[1][0]] = strings[f[2][0]]
    frames = {}
    for location in map(fields, p[4]):
        frames[location[1][0]] = functions[fields(location[4][0])[1][0]]
    same("functions", len(functions), len(p[5]))
    same("locations", len(frames), len(p[4]))
    for sample in map(fields, p[2]):
        yield ([frames[i] for i in reversed(numbers(sample[1][0]))],
               dict(zip(types, numbers(sample[2][0]))))


def check_pprof():
    states = ("running", "runnable", "blocked", "queued", "unknown")
    for what in ("blame", "critical") + states:
        folded, got = Counter(), Counter()
        for line in run("report", "--folded", FILE, what).decode().splitlines():
            stack, ns = line.rsplit(" ", 1)
            folded[stack] += int(ns)
        count = 0
        for frames, values in pprof(what):
            got[";".join(f.replace(";", ",") for f in frames)] += values["time"]
            count += values["count"]
            same("states", {s: values[s] for s in states},
                 {s: values["time"] if s == frames[1] else 0 for s in states})
        same(what, got, folded)
        same(what + ": count", count, sum(r["count"] for r in report(what)))


if __name__ == "__main__":
    globals()["check_" + WHAT]()
    sys.exit(wrong)
