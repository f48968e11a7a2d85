#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Recount the lints of asynctrace report from the records of asynctrace dump --json.
#
# usage: recount_lints.py ASYNCTRACE FILE lints
#
# Prints differences; exits with 1 if there are any.

import sys
from collections import defaultdict

import recount
from recount import BEGIN, END, records, report, same, threads


def works():
    """Of each thread: times of events of open operations, and (event, end) of works on them"""
    events, of, stacks, is_open = defaultdict(list), defaultdict(list), defaultdict(list), set()
    for r in records:
        kind, tid, id_ = r["record"], r.get("tid"), r.get("id")
        if kind == "begin":
            stacks[tid].append([])
        elif kind == "end" and stacks[tid]:
            for work in stacks[tid].pop():
                work[1] = min(work[1], r["ts"])
        if not kind.startswith("async-"):
            continue
        if kind == "async-begin":
            is_open.add(id_)
        if id_ in is_open:
            events[tid].append(r["ts"])
            if stacks[tid]:
                stacks[tid][-1].append([r["ts"], 1 << 64, id_])
                of[tid].append(stacks[tid][-1][-1])
        if kind == "async-end":
            is_open.discard(id_)
            for work in (w for list_ in of.values() for w in list_ if w[2] == id_):
                work[1] = min(work[1], r["ts"])
    return events, of


def herds(of):
    """(number, futile wakeups, wakeups, ns that they ran) of each waker"""
    wakers = {(r["tid"], r["ts"]): r["args"].get("waker", 0) for r in records
              if r["record"] == "wakeup"}
    woken = sorted((turn[2], tid, i + 1) for tid, t in of.items() for i, turn in enumerate(t.turns)
                   if turn[4] and (tid, turn[2]) in wakers)
    events, work = works()
    now, all_ = {}, []
    for ns, tid, turn in woken:
        waker = wakers[tid, ns]
        herd = now.get(waker)
        if not herd or ns - herd[0][0] > 100000 or any(m[1] == tid for m in herd):
            herd = now[waker] = []
            all_.append((waker, herd))
        herd.append((ns, tid, turn))
    found = defaultdict(lambda: [0, 0, 0, 0])
    for waker, herd in all_:
        futile = []
        for _, tid, i in herd:
            begin, _, end, ran, why = of[tid].turns[i]
            followed = of[tid].followed and of[tid].followed_at <= begin
            worked = any(begin <= ns <= end for ns in events[tid]) or \
                any(w[0] < begin <= w[1] for w in work[tid])
            if followed and why in ("sleep", "disk") and ran <= 100000 and not worked:
                futile.append(ran)
        if len(herd) >= 3 and len(futile) == len(herd) - 1:
            for i, n in enumerate((1, len(futile), len(herd), sum(futile))):
                found[waker][i] += n
    return found


def lost_wakes():
    """(number, open ones, longest) of each type. The rows of the timeline tell the states."""
    found = defaultdict(lambda: [0, 0, 0])
    for op in report("unfinished"):
        type_ = op["type"]
        found[type_][1] += 1
        # An operation that began with the last record has no rows.
        rows = report("timeline " + op["id"]) if op["age_ns"] else []
        asleep = 0
        for r in reversed(rows):
            if (r["state"], r["reason"]) not in (("blocked", "sleep"), ("blocked", "exited")):
                break
            asleep += r["to_ns"] - r["from_ns"]
        if asleep >= 10 ** 9:
            found[type_][0] += 1
            found[type_][2] = max(found[type_][2], asleep)
    return {type_: f for type_, f in found.items() if f[0]}


def check_lints():
    of, _ = threads()
    want = {}
    for tid, t in of.items():
        own = sum(r["record"] == "wakeup" and r["tid"] == r["args"].get("waker") == tid
                  for r in records)
        if t.counts["wakeups"] >= 10 and 2 * own > t.counts["wakeups"]:
            want["self-wake", tid] = own, own / t.counts["wakeups"], 0
        long = [turn[3] for turn in t.turns if turn[3] >= 10 ** 9]
        if long:
            want["never-yields", tid] = len(long), sum(long) / (END - BEGIN), max(long)
    for waker, (nr, futile, woken, ns) in herds(of).items():
        want["thundering-herd", waker] = nr, futile / woken, ns
    for type_, (nr, all_, ns) in lost_wakes().items():
        want["lost-wake", type_] = nr, nr / all_, ns
    got = {}
    for r in report("lints"):
        key = r["lint"], r["subject"] if r["lint"] == "lost-wake" else r["tid"]
        got[key] = r["count"], r["share"], r["ns"]
    same("lints", sorted(map(str, got)), sorted(map(str, want)))
    for key in set(got) & set(want):
        same(key, (got[key][0], got[key][2]), (want[key][0], want[key][2]))
        same("%s: share" % (key,), abs(got[key][1] - want[key][1]) < 2e-6, True)
    same("summary", report("summary")[0]["lints"], len(got))
    same("window", report("lints", "--window", "16"), report("lints"))


check_lints()
sys.exit(recount.wrong)
