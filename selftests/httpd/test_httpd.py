#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The tests of the example server.

usage: test_httpd.py HTTPD [--seed N] [--without TEST] [TEST...]

HTTPD is the server built with standin/, see run.sh.
"""
import argparse
import os
import random
import sys
import traceback

import answers  # noqa: F401, registers its tests
import trouble  # noqa: F401
from harness import Skip, args, tests


def main():
    p = argparse.ArgumentParser(description='Tests the example server.')
    p.add_argument('httpd')
    p.add_argument('--seed', type=int, default=random.randrange(1 << 32))
    p.add_argument('--without', action='append', default=[], metavar='TEST')
    p.add_argument('tests', nargs='*')
    p.parse_args(namespace=args)
    args.httpd = os.path.abspath(args.httpd)
    print(f'seed {args.seed}', flush=True)
    passed = failed = skipped = 0
    unknown = {*args.tests, *args.without} - {t.__name__ for t in tests}
    if unknown:
        p.error(f'no such test: {" ".join(sorted(unknown))}')
    for t in tests:
        if t.__name__ in args.without or args.tests and t.__name__ not in args.tests:
            continue
        try:
            t()
            passed += 1
            print(f'ok   {t.__name__}', flush=True)
        except Skip as e:
            skipped += 1
            print(f'skip {t.__name__}: {e}', flush=True)
        except Exception:
            failed += 1
            print(f'FAIL {t.__name__}\n{traceback.format_exc()}', flush=True)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
