#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Extract the ranges and policies from the kernel source that the generator has written.

usage: policies.py GENERATED.c OUT.c OUT.h

The operation tables and the family are left out, because they need struct genl_split_ops, which
Linux 6.1 does not have. Policies become global and are declared in OUT.h. struct genl_ops has one
policy for do and dump, so the two policies must be equal, and one is kept.
"""
import re
import sys


def main():
    generated, out_c, out_h = sys.argv[1:]
    text = open(generated, encoding='utf-8').read()

    # The generator writes the operation table last.
    head, table, _ = text.partition('/* Ops table for ')
    if not table:
        sys.exit('policies.py: no operation table in the generated source')
    spdx, rest = head.split('\n', 1)
    origin, body = rest.split('#include <net/netlink.h>', 1)
    origin = origin.replace('kernel source', 'kernel source, policies only').rstrip()
    # Drop the prefix uapi/ of includes: the module is compiled with the folder uapi/ in its
    # include path, and a kernel with include/uapi/.
    includes = dict.fromkeys(re.findall(r'#include <(?:uapi/)?(linux/[^>]+)>', body))
    body = re.sub(r'#include [^\n]*\n', '', body)

    both = re.compile(r'^(/\* \w+ - do) \*/\n(static const struct nla_policy \w+)_do(_nl_policy'
                      r'\[[^\]]+\] = \{\n[^}]*)(.*?\n\};\n)\n/\* \w+ - dump \*/\n\2_dump\3\4',
                      re.M | re.S)
    body = both.sub(r'\1, dump */\n\2\3\4', body)
    if re.search(r'_dump_nl_policy', body):
        sys.exit('policies.py: an operation has different policies for do and dump')

    decl = re.compile(r'^(?:static )?(const struct nla_policy \w+\[[^\]]+\]) = \{$', re.M)
    policies = decl.findall(body)
    if not policies:
        sys.exit('policies.py: no policies in the generated source')
    body = decl.sub(r'\1 = {', body)
    # A policy points to its range without const before 6.7.
    body = body.replace('static const struct netlink_range', 'static struct netlink_range')
    body = re.sub(r'\n{3,}', '\n\n', body).strip()

    with open(out_c, 'w', encoding='utf-8') as f:
        f.write(f'{spdx}\n{origin}\n\n#include "control/policy.h"\n\n{body}\n')
    with open(out_h, 'w', encoding='utf-8') as f:
        f.write('/* ' + spdx.replace('// ', '') + ' */\n')
        f.write(origin.replace('kernel source', 'kernel header') + '\n\n')
        f.write('#ifndef AT_POLICY_H\n#define AT_POLICY_H\n\n')
        f.write('#include <net/netlink.h>\n')
        for inc in includes:
            f.write(f'#include <{inc}>\n')
        f.write('\n')
        for one in policies:
            f.write(f'extern {one};\n')
        f.write('\n#endif /* AT_POLICY_H */\n')


main()
