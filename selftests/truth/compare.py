#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py [--lossy] PLAN WHY: does asynctrace why --json find out what truth knows?

The program reads its clocks right before and after what the kernel records, so it knows
bounds. 100 us are allowed beyond them.

--lossy: records were dropped on purpose. Operations may be missing, times and parties
unknown; but no state may be wrong."""
import json
import sys

STATES = ("running", "runnable", "blocked", "queued", "unknown")


SLACK = 100_000


def tid(party):
    return party["tid"] if party else None


def total(rows):
    return sum(row["to_ns"] - row["from_ns"] for row in rows)


def is_right(want, row, op):
    """Is the party that ended the sleep the known one, or unknown?"""
    kind = row.get("other_kind")
    if want["other"] in ("interrupt", "kernel"):
        return kind == "interrupt" or (kind == "thread" and want["other"] == "kernel"
                                       and row["other"]["pid"] != op["pid"])
    return (tid(row.get("other")) == want["other"]
            and row.get("other_operation", {}).get("id") == want["other_id"])


def waits(want, op):
    """How long was the operation blocked in that duration, and which party ended it?"""
    blocked = [r for r in op["intervals"] if r["state"] == "blocked"
               and tid(r["thread"]) == want["thread"]]
    rows = [r for r in blocked if r.get("duration") == want["duration"]]
    # The thread may have slept for less than planned, because it waited for a CPU first. After a
    # loss, the record that shows the duration may be missing.
    open_to_doubt = op["running_ns"] + op["runnable_ns"] + op["unknown_ns"]
    if op["unknown_ns"]:
        open_to_doubt += total([r for r in blocked if r.get("inferred") and "duration" not in r])
    if total(rows) < want["asleep_ns"] - open_to_doubt - SLACK:
        yield f"blocked {total(rows)}, less than it had to wait: {want['asleep_ns']}"
    if total(rows) > want["spent_ns"] + SLACK:
        yield f"blocked {total(rows)}, more than the call took: {want['spent_ns']}"
    # There may be no row, because a short wait may be over before the thread sleeps. Check the
    # longest row: a thread that was woken may also have waited for a page of its code, but not as
    # long as the scene made it wait.
    if rows and not op["unknown_ns"]:
        longest = max(rows, key=lambda row: row["to_ns"] - row["from_ns"])
        if not is_right(want, longest, op):
            by = [tid(longest.get("other")), longest.get("other_operation", {}).get("id")]
            yield f"woken by {by}, not by {[want['other'], want.get('other_id')]}"


def is_queued(want, op):
    rows = [r for r in op["intervals"] if r["state"] == "queued"]
    least = want["queued_at_least_ns"] - op["unknown_ns"]
    if not least - SLACK <= total(rows) <= want["queued_at_most_ns"] + SLACK:
        yield f"queued {total(rows)}"
    if op["unknown_ns"]:
        return
    if not rows or any(tid(r.get("thread")) != want["queued_behind"] for r in rows):
        yield "another thread was next"
    if want["before"] not in [r.get("other_operation", {}).get("id") for r in rows]:
        yield f"not queued behind {want['before']}"


def is_delayed(want, op):
    rows = [r for r in op["intervals"] if r["state"] == "runnable"
            and tid(r.get("other")) == want["runnable_behind"]]
    if not want["behind_at_least_ns"] - SLACK <= total(rows) <= want["behind_at_most_ns"] + SLACK:
        yield f"runnable behind it for {total(rows)}"
    served = {r.get("other_operation", {}).get("id") for r in rows}
    if served - {want["behind_id"]}:
        yield f"runnable behind {served}, not behind {want['behind_id']}"


def wrong(want, op, lossy):
    lost = op["unknown_ns"]
    busy = op["running_ns"] + op["runnable_ns"]
    tids = {t["tid"] for t in op["threads"]}
    if sum(op[s + "_ns"] for s in STATES) != op["latency_ns"]:
        yield "the account does not add up"
    if lost and not lossy:
        yield f"{lost} ns are unknown"
    if "duration" in want:
        yield from waits(want, op)
    if "busy_at_least_ns" in want and busy + lost < want["busy_at_least_ns"] - SLACK:
        yield f"running and runnable {busy}, not at least {want['busy_at_least_ns']}"
    # In lossy runs, the noise threads also compete for the CPU.
    if "runnable_behind" in want and not lossy:
        yield from is_delayed(want, op)
    if "queued_behind" in want:
        yield from is_queued(want, op)
    if "threads" in want and (tids - set(want["threads"]) or (tids != set(want["threads"]) and not lost)):
        yield f"threads {tids}, not {want['threads']}"


def main():
    lossy = sys.argv[1] == "--lossy"
    with open(sys.argv[-2]) as f:
        plan = [json.loads(line) for line in f]
    with open(sys.argv[-1]) as f:
        found = {op["id"]: op for op in map(json.loads, f) if op["complete"]}
    failed = unknown = 0
    for want in plan:
        op = found.get(want["id"])
        unknown += not op or op["unknown_ns"] > 0
        said = list(wrong(want, op, lossy)) if op else [] if lossy else ["it is not in the trace"]
        if said:
            failed += 1
            print(f"# {want['scene']} {want['id']}: {'; '.join(said)}")
            print(f"# {json.dumps(want)}")
    if not plan:
        print("# the plan is empty")
    if lossy:
        print(f"# {unknown} of {len(plan)} operations are missing or have unknown times")
    sys.exit(failed != 0 or not plan)


main()
