#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print uapi/asynctrace.yaml as tables of selftests/uapi/spec.h.

usage: spec.py ASYNCTRACE.YAML

New attributes and operations of the spec are fuzzed and sent malformed without further work.
"""
import sys

import yaml

SIZES = {'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8}


def c_name(*parts):
    return '_'.join(['ASYNCTRACE', *parts]).upper().replace('-', '_')


class Spec:
    def __init__(self, spec):
        self.spec = spec
        self.consts = {d['name']: d['value'] for d in spec['definitions'] if d['type'] == 'const'}
        self.enums = {d['name']: d for d in spec['definitions'] if d['type'] in ('enum', 'flags')}
        self.sets = [s['name'] for s in spec['attribute-sets']]

    def limit(self, attr, which):
        value = attr.get('checks', {}).get(which)
        return self.consts[value] if isinstance(value, str) else value

    def range(self, attr):
        """Return min, max and mask of a number; None if there is none."""
        low, high, mask = self.limit(attr, 'min'), self.limit(attr, 'max'), None
        if attr.get('enum'):
            enum = self.enums[attr['enum']]
            if enum['type'] == 'flags' or attr.get('enum-as-flags'):
                mask = (1 << len(enum['entries'])) - 1
            else:
                low = enum.get('value-start', 0)
                high = low + len(enum['entries']) - 1
        return low, high, mask

    def attr(self, set_name, attr):
        kind = attr['type']
        fields = [f'.type = {c_name("a", set_name, attr["name"])}', f'.name = "{attr["name"]}"']
        if kind in SIZES:
            low, high, mask = self.range(attr)
            fields += ['.kind = SPEC_NUMBER', f'.size = {SIZES[kind]}']
            fields += [f'.min = {low}ULL'] if low is not None else []
            fields += [f'.max = {high}ULL'] if high is not None else []
            fields += [f'.mask = {mask:#x}'] if mask is not None else []
        elif kind == 'string':
            fields.append('.kind = SPEC_STRING')
            size = self.limit(attr, 'max-len')
            fields += [f'.max = {size}'] if size is not None else []
        elif kind == 'nest':
            fields += ['.kind = SPEC_NEST', f'.nested = {self.sets.index(attr["nested-attributes"])}']
        elif kind in ('flag', 'pad'):
            fields.append('.kind = SPEC_' + kind.upper())
        else:
            sys.exit(f'spec.py: cannot handle attributes of type {kind}')
        if attr.get('multi-attr'):
            fields.append('.multi = true')
        return '{ ' + ', '.join(fields) + ' }'

    def print_sets(self):
        for s in self.spec['attribute-sets']:
            print(f'static const struct spec_attr spec_{s["name"]}[] = {{')
            for a in s['attributes']:
                print('\t' + self.attr(s['name'], a) + ',')
            print('};\n')
        print('const struct spec_set spec_sets[] = {')
        for name in self.sets:
            print(f'\t{{ "{name}", spec_{name}, ARRAY(spec_{name}) }},')
        print('};\n')

    def print_ops(self):
        rows = []
        for op in self.spec['operations']['list']:
            row = [f'.cmd = {c_name("cmd", op["name"])}', f'.name = "{op["name"]}"',
                   f'.set = {self.sets.index(op["attribute-set"])}']
            for way in ('do', 'dump'):
                if way not in op:
                    continue
                row.append(f'.has_{way} = true')
                attrs = op[way].get('request', {}).get('attributes', [])
                if not attrs:
                    continue
                table = f'spec_{op["name"]}_{way}'.replace('-', '_')
                types = ', '.join(c_name('a', op['attribute-set'], a) for a in attrs)
                print(f'static const uint16_t {table}[] = {{ {types} }};')
                row.append(f'.{"do_" if way == "do" else way} = {{ {table}, ARRAY({table}) }}')
            if 'event' not in op:
                rows.append('\t{ ' + ', '.join(row) + ' },')
        print('\nconst struct spec_op spec_ops[] = {', *rows, '};\n', sep='\n')


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        spec = Spec(yaml.safe_load(f))
    print('// SPDX-License-Identifier: GPL-2.0')
    print('/* Do not edit: selftests/uapi/spec.py made it from uapi/asynctrace.yaml. */')
    print('#include <linux/asynctrace_netlink.h>\n\n#include "spec.h"\n')
    print('#define ARRAY(a)\t(sizeof(a) / sizeof((a)[0]))\n')
    spec.print_sets()
    spec.print_ops()
    print('const unsigned int spec_nr_sets = ARRAY(spec_sets), spec_nr_ops = ARRAY(spec_ops);')


main()
