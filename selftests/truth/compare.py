#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py PLAN WHY: does asynctrace why --json find out what truth knows?

The program reads its clocks right before and after what the kernel records, so it knows
bounds. 100 us are allowed beyond them."""
import json
import sys

STATES = ("running", "runnable", "blocked", "queued", "unknown")


SLACK = 100_000


def tid(party):
    return party["tid"] if party else None


def total(rows):
    return sum(row["to_ns"] - row["from_ns"] for row in rows)


def waits(want, op):
    """Blocked in that duration: how long, and who ended it"""
    rows = [r for r in op["intervals"] if r["state"] == "blocked"
            and r.get("duration") == want["duration"] and tid(r["thread"]) == want["thread"]]
    if not rows:
        yield f"never blocked in {want['duration']}"
        return
    # Before it slept it may have waited for a CPU.
    awake = op["running_ns"] + op["runnable_ns"]
    if "asleep_ns" in want and total(rows) < want["asleep_ns"] - awake - SLACK:
        yield f"blocked {total(rows)}, less than it had to wait: {want['asleep_ns']}"
    if "spent_ns" in want and total(rows) > want["spent_ns"] + SLACK:
        yield f"blocked {total(rows)}, more than the call took: {want['spent_ns']}"
    last = rows[-1]
    if want.get("other") == "interrupt":
        if last.get("other_kind") != "interrupt":
            yield f"woken by {last.get('other_kind')}, not by an interrupt"
    elif "other" in want:
        if tid(last.get("other")) != want["other"]:
            yield f"woken by {last.get('other')}, not by thread {want['other']}"
        if last.get("other_operation", {}).get("id") != want["other_id"]:
            yield f"woken by one that worked on {last.get('other_operation')}, not on {want['other_id']}"


def wrong(want, op):
    if sum(op[s + "_ns"] for s in STATES) != op["latency_ns"]:
        yield "the account does not add up"
    if op["unknown_ns"]:
        yield f"{op['unknown_ns']} ns are unknown"
    busy = op["running_ns"] + op["runnable_ns"]
    if "duration" in want:
        yield from waits(want, op)
    if "busy_at_least_ns" in want and busy < want["busy_at_least_ns"] - SLACK:
        yield f"running and runnable {busy}, not at least {want['busy_at_least_ns']}"
    if "runnable_behind" in want:
        rows = [r for r in op["intervals"] if r["state"] == "runnable"
                and tid(r.get("other")) == want["runnable_behind"]]
        if total(rows) < op["latency_ns"] / 4:
            yield f"runnable behind it for {total(rows)} of {op['latency_ns']}"
    if "queued_behind" in want:
        rows = [r for r in op["intervals"] if r["state"] == "queued"]
        if not want["queued_at_least_ns"] - SLACK <= total(rows) <= want["queued_at_most_ns"] + SLACK:
            yield f"queued {total(rows)}"
        if not rows or any(tid(r.get("thread")) != want["queued_behind"] for r in rows):
            yield "another thread was next"
        if want["before"] not in [r.get("other_operation", {}).get("id") for r in rows]:
            yield f"not queued behind {want['before']}"
    if "threads" in want and sorted(t["tid"] for t in op["threads"]) != sorted(want["threads"]):
        yield f"threads {[t['tid'] for t in op['threads']]}, not {want['threads']}"


def main():
    with open(sys.argv[1]) as f:
        plan = [json.loads(line) for line in f]
    with open(sys.argv[2]) as f:
        found = {op["id"]: op for op in map(json.loads, f)}
    failed = 0
    for want in plan:
        op = found.get(want["id"])
        said = list(wrong(want, op)) if op and op["complete"] else ["it is not in the trace"]
        if said:
            failed += 1
            print(f"# {want['scene']} {want['id']}: {'; '.join(said)}")
            print(f"# {json.dumps(want)}")
    if not plan:
        print("# the plan is empty")
    sys.exit(failed != 0 or not plan)


main()
