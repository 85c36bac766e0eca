#!/usr/bin/env python3
"""make_perf_cases.py - writes the cases of testdata/perf that no recorder of today produces.

    make_perf_cases.py [CASE...]

Layouts newer or older than the recorder at hand, record types that need hardware, and combinations
that are rare. Every case is small and says in how.txt what it holds; facts.txt and the folds come
from perf_expect.py, which shares no code with this writer but the format.
"""
import os
import subprocess
import sys

from perf_big_endian import Converter
from perf_write import (ADDR, BRANCH, CGROUP, CHAIN, CODE_PAGE, CPU, DATA_PAGE, DATA_SRC,
                        EXCLUDE_GUEST, FLAGS, FREQ, ID, IDENTIFIER, IP, KERNEL, PERIOD, PHYS, RAW,
                        READ, REGS_INTR, REGS_USER, SAMPLE_ID_ALL, STACK_USER, STREAM, T0, TID,
                        TIME, TRANSACTION, USER, USUAL, WEIGHT, WEIGHT_STRUCT, Event, File,
                        compressed, feature_text, padded, some_samples, u)

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, 'testdata', 'perf')
# ---- the cases: each returns (what it shows, {file name: bytes}, [fold file and options]) ---------

FOLD = [('folded.txt', '--no-symbols')]
CASES = {}


def case(function):
    CASES[function.__name__.replace('_', '-')] = function
    return function


def attr_size(size):
    def make():
        f = File(Event(size=size))
        f.program()
        some_samples(f)
        more = ', the last bytes unknown and not zero' if size > 144 else ''
        return f'perf_event_attr of {size} bytes{more}', {'perf.data': f.file()}, FOLD
    return make


for _size in (64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200):
    CASES[f'attr-{_size}'] = attr_size(_size)


@case
def attr_stride():
    """The stride of the table is not the size of an attribute."""
    f = File(Event(USUAL | IDENTIFIER, size=96, ids=[7]),
             Event(USUAL | IDENTIFIER | CPU, kind=1, config=1, size=112, ids=[8, 9]))
    f.program()
    some_samples(f, 6)
    some_samples(f, 6, event=1, ident=9)
    return ('attributes of 96 and 112 bytes in slots of 176', {'perf.data': f.file(stride=176)},
            [('folded.txt', '--event cpu-clock --no-symbols'),
             ('folded-task.txt', '--event task-clock --no-symbols')])


@case
def header_72():
    f = File(Event(size=64))
    f.program()
    some_samples(f)
    return 'a header of 72 bytes, without feature bits', {'perf.data': f.file(72)}, FOLD


@case
def no_sample_id():
    f = File(Event(flags=FREQ | EXCLUDE_GUEST), trailer=False)
    f.program()
    some_samples(f, 6)
    f.comm('renamed')
    some_samples(f, 6)
    return ('sample_id_all=0: only samples have a time; the order of the file decides',
            {'perf.data': f.file()}, FOLD)


@case
def deferred_callchain():
    deferred = (1 << 64) - 640
    f = File(Event(flags=FLAGS | 1 << 38 | 1 << 39))
    f.program()
    f.fork(100, 100, 101)
    f.program(200, 'other')
    kernel = [KERNEL, 0xffffffff81000100, 0xffffffff81000205]

    def later(cookie, chain, pid, tid):
        f.record(22, u('QQ', cookie, len(chain)) + u(f'{len(chain)}Q', *chain), 2, pid, tid)
    f.sample(kernel + [deferred, 1], misc=1)
    f.sample(kernel + [deferred, 1], misc=1)  # two samples before one return to user space
    later(1, [USER, 0x400100, 0x400205], 100, 100)
    f.sample(kernel + [deferred, 2], tid=101, misc=1)
    f.sample(kernel + [deferred, 2], pid=200, misc=1)  # the same cookie, another thread
    later(2, [USER, 0x400110, 0x400205, 0x400305], 200, 200)
    later(2, [USER, 0x400120, 0x400205], 100, 101)
    f.sample(kernel + [deferred, 3], misc=1)  # its other half was lost
    f.sample([USER, 0x400100], period=5)
    return ('user call chains that follow later as CALLCHAIN_DEFERRED; one never comes',
            {'perf.data': f.file()}, FOLD)


@case
def text_poke():
    f = File(Event(flags=FLAGS | 1 << 32))
    f.program()
    some_samples(f, 4)
    f.record(20, u('QHH', 0xffffffff81000100, 5, 5) + b'\x0f\x1f\x44\0\0\xe8\x01\x02\x03\x04' +
             b'\0' * 2, 1)
    some_samples(f, 4)
    return 'a TEXT_POKE record between samples', {'perf.data': f.file()}, FOLD


@case
def compressed2():
    f = File(Event())
    f.program()
    head, f.body = f.body, b''
    some_samples(f, 40)
    f.body = head + compressed(f.body, (5, 300, 301, 900, 1600))
    f.features[27] = u('IIIII', 1, 1, 3, 4, 1 << 16)  # version, zstd, level, ratio, mmap_len
    return ('COMPRESSED2: one zstd stream, its records cut anywhere, padded to 8 bytes',
            {'perf.data': f.file()}, FOLD)


@case
def compressed2_pipe():
    f = File(Event())
    f.program()
    head, f.body = f.body, b''
    some_samples(f, 40)
    f.body = head + compressed(f.body, (5, 300, 301, 900, 1600))
    return 'COMPRESSED2 in pipe mode, and nothing that announces it', {'perf.data': f.pipe()}, FOLD


@case
def compressed_unaligned():
    f = File(Event())
    f.program()
    head, f.body = f.body, b''
    some_samples(f, 40)
    f.body = head + compressed(f.body, (7, 8, 9, 777), 81)
    f.features[27] = u('IIIII', 1, 1, 3, 4, 1 << 16)
    some_samples(f, 3)
    return ('COMPRESSED of odd sizes: the records after it begin at odd bytes',
            {'perf.data': f.file()}, FOLD)


@case
def unknown_records():
    f = File(Event())
    f.program()
    for i, kind in enumerate((23, 63, 99, 200, 0x7fff, 0x9000)):
        f.body += u('IHH', kind, 0, 8 + 8 * i) + b'\xee' * (8 * i)
        some_samples(f, 2)
    f.features[40] = b'not known yet'
    f.features[100] = b''
    f.features[255] = b'the last bit'
    f.features[4] = feature_text('6.99.0')
    return ('record types and feature bits that nobody knows yet', {'perf.data': f.file()}, FOLD)


@case
def lost_samples():
    f = File(Event(USUAL | ID, ids=[11], read_format=20),
             Event(USUAL | ID, config=1, ids=[12], read_format=20))
    f.program()
    some_samples(f, 4)
    f.record(2, u('QQ', 11, 30), pid=100)
    some_samples(f, 4, event=1)
    f.record(2, u('QQ', 12, 12), pid=100)
    f.record(13, u('Q', 30), ident=11)
    f.record(13, u('Q', 12), ident=12)
    return ('LOST and LOST_SAMPLES tell the same 42 losses twice', {'perf.data': f.file()},
            [('folded.txt', '--event cpu-clock --no-symbols')])


@case
def lost_samples_hardware():
    f = File(Event())
    f.program()
    some_samples(f, 4)
    f.record(2, u('QQ', 0, 30))
    f.record(13, u('Q', 12))
    some_samples(f, 4)
    return ('LOST_SAMPLES of the hardware (no PERF_FORMAT_LOST): other losses than those of LOST',
            {'perf.data': f.file()}, FOLD)


@case
def lost_only():
    f = File(Event())
    f.program()
    some_samples(f, 4)
    f.record(2, u('QQ', 0, 30))
    some_samples(f, 4)
    f.record(2, u('QQ', 0, 12))
    return 'LOST records alone: 42 records', {'perf.data': f.file()}, FOLD


@case
def branch_stack():
    st = USUAL | BRANCH | WEIGHT_STRUCT | DATA_SRC | CGROUP
    f = File(Event(st, branch_type=1 << 17 | 1))
    f.program()
    for i in range(6):
        branches = u('Qq', i, -1) + b''.join(u('QQQ', 0x400100 + j, 0x400200 + j, 3)
                                             for j in range(i))
        f.sample([USER, 0x400100 + i, 0x400205], fields={
            BRANCH: branches, WEIGHT_STRUCT: u('IHH', 50 + i, 7, 9), DATA_SRC: u('Q', 0x68100142),
            CGROUP: u('Q', 77)})
    return ('BRANCH_STACK with hw_idx, 0 to 5 branches, and fields behind it',
            {'perf.data': f.file()}, FOLD)


@case
def every_field():
    st = IP | TID | TIME | ADDR | READ | CHAIN | CPU | PERIOD | STREAM | RAW | REGS_USER | \
        STACK_USER | WEIGHT | DATA_SRC | IDENTIFIER | TRANSACTION | REGS_INTR | PHYS | CGROUP | \
        DATA_PAGE | CODE_PAGE | ID
    f = File(Event(st, ids=[5], read_format=31 & ~8, regs_user=0x101, regs_intr=0x30), trailer=True)
    f.program()
    raw = u('I', 12) + b'hello world!'
    for i in range(4):
        regs = u('Q', 0) if i == 2 else u('QQQ', 2, 1, 2)
        stack = u('Q', 0) if i == 1 else u('Q', 16) + b'S' * 16 + u('Q', 8)
        f.sample([USER, 0x400100 + i, 0x400205], fields={
            ADDR: u('Q', 0x7f0000001000 + i), READ: u('QQQQQ', 40 + i, 9, 8, 5, 0), RAW: raw,
            REGS_USER: regs, STACK_USER: stack, WEIGHT: u('Q', 60 + i), DATA_SRC: u('Q', 0x142),
            TRANSACTION: u('Q', 3), REGS_INTR: regs, PHYS: u('Q', 0x1000 * i),
            CGROUP: u('Q', 77), DATA_PAGE: u('Q', 4096), CODE_PAGE: u('Q', 2 << 20),
            CPU: u('II', i, 0)})
    return 'every field of a sample at once, some empty', {'perf.data': f.file()}, []


@case
def chains():
    guest_kernel, guest_user, unknown = (1 << 64) - 2176, (1 << 64) - 2560, (1 << 64) - 3000
    f = File(Event())
    f.program()
    f.sample([], ip=0x400100)                                  # nr = 0
    f.sample([USER], ip=0x400100)                              # only a mark
    f.sample([KERNEL, 0xffffffff81000100, USER, 0x400105])
    f.sample([unknown, 0x400100, USER, 0x400205])
    f.sample([guest_kernel, 0xffffffff81000100, guest_user, 0x400205], misc=4)
    f.sample([USER, 0x10, 0x400205])                           # nothing is mapped there
    return ('call chains: empty, only a mark, a mark of the future, guest, unmapped',
            {'perf.data': f.file()}, [])


@case
def maps():
    f = File(Event())
    f.comm('prog', is_exec=True)
    f.mmap('/srv/first', 0x400000, 0x4000)
    f.sample([USER, 0x400100])                     # first
    f.sample([USER, 0x403100])                     # first
    f.mmap('/srv/second', 0x401000, 0x1000)        # in the middle of it
    f.sample([USER, 0x400100])                     # first
    f.sample([USER, 0x401100])                     # second
    f.sample([USER, 0x402100])                     # first
    f.mmap('/srv/data', 0x400000, 0x4000, misc=2 | 1 << 13)   # not executable: shadows nothing
    f.sample([USER, 0x400100])
    f.fork(200, 100)
    f.mmap('/srv/third', 0x400000, 0x1000)         # in the parent only
    f.sample([USER, 0x400100])
    f.sample([USER, 0x400100], pid=200)
    f.comm('child', 200, is_exec=True)
    f.sample([USER, 0x400100], pid=200)            # the address space is gone
    f.mmap('/srv/new', 0x400000, 0x1000, pid=200, old=True)
    f.sample([USER, 0x400100], pid=200)
    f.exit(200)
    f.fork(200, 100)                               # the same id, another process
    f.sample([USER, 0x401100], pid=200)
    return ('maps over maps, data maps, fork, exec, MMAP beside MMAP2, a reused id',
            {'perf.data': f.file()}, FOLD)


@case
def comms():
    f = File(Event())
    f.program()
    f.fork(100, 100, 101)
    f.sample([USER, 0x400100], tid=101)            # inherits prog
    f.comm('worker', 100, 101)
    f.sample([USER, 0x400100], tid=101)
    f.sample([USER, 0x400100])
    f.fork(100, 100, 102, 101)                     # by the worker
    f.sample([USER, 0x400100], tid=102)
    f.exit(100, 101)
    f.sample([USER, 0x400100], pid=300)            # never announced
    f.sample([USER, 0x400100], pid=100, tid=102)
    f.comm('late', 100, 100, time=0)               # synthesized afterwards: time 0 is before all
    f.sample([USER, 0x400100])
    return 'names of threads: inherited, changed, unknown, late', {'perf.data': f.file()}, FOLD


@case
def unknown_id():
    f = File(Event(USUAL | IDENTIFIER, ids=[21, 22]),
             Event(USUAL | IDENTIFIER | CPU, config=1, ids=[23]))
    f.program()
    f.sample([USER, 0x400100], ident=22)
    f.sample([USER, 0x400110], event=1)
    f.sample([USER, 0x400100], ident=0)            # 0: the first event
    f.sample([USER, 0x400100], ident=99)           # nobody's
    f.sample([USER, 0x400110], event=1)
    return ('IDENTIFIER: known, zero, and one that no attribute has', {'perf.data': f.file()}, [])


@case
def event_types_pipe():
    f = File(Event(USUAL | ID, ids=[1]), Event(USUAL | ID, config=1, ids=[2]))
    head = b''
    for config, name in ((0, 'first name'), (1, 'second name')):
        body = u('Q', config) + name.encode().ljust(64, b'\0')
        head += u('IHH', 65, 0, len(body) + 8) + body
    f.body = head
    f.program()
    some_samples(f, 4)
    some_samples(f, 4, event=1)
    return ('EVENT_TYPE records, the only names of events in old pipe files',
            {'perf.data': f.pipe()}, [])


@case
def auxtrace():
    f = File(Event())
    f.program()
    some_samples(f, 2)
    f.record(70, u('II', 1, 0) + u('Q', 0))
    f.record(11, u('QQQ', 0, 4096, 0))
    payload = bytes(range(256)) * 2
    f.body += u('IHH', 71, 0, 48) + u('QQQIIII', len(payload), 0, 0, 0, 100, 0, 0) + payload
    some_samples(f, 2)
    return 'AUXTRACE: 512 bytes follow the record outside its size', {'perf.data': f.file()}, FOLD


@case
def groups():
    """Group reads with and without times and losses; counts that stand still, run and stop."""
    st = USUAL | READ | IDENTIFIER
    f = File(Event(st, ids=[31], read_format=8 | 4 | 1 | 2 | 16),
             Event(st, config=2, ids=[32], read_format=8 | 4 | 1 | 2 | 16))
    f.program()
    for a, b in ((100, 0), (250, 1), (250, 4), (400, 4)):
        read = u('QQQ', 2, 1000, 1000) + u('QQQ', a, 31, 0) + u('QQQ', b, 32, 0)
        f.sample([USER, 0x400100, 0x400205], fields={READ: read})
    return ('group reads with times and losses: virtual samples are the differences',
            {'perf.data': f.file()},
            [('folded.txt', '--event cpu-clock --no-symbols'),
             ('folded-faults.txt', '--event page-faults --no-symbols')])


@case
def disorder():
    f = File(Event())
    f.program(time=T0)
    for i in (5, 1, 4, 2, 3):
        f.sample([USER, 0x400100 + 16 * i], time=T0 + 10000 + 2000 * i)
    f.comm('renamed', time=T0 + 10000 + 2000 * 3 - 500)
    f.mmap('/srv/newer', 0x400000, 0x2000, time=T0 + 10000 + 2000 * 4 - 500)
    return ('records written in another order than they happened, and no rounds',
            {'perf.data': f.file()}, FOLD)


def big_endian(name, *folds):
    def make():
        data = Converter(os.path.join(OUT, name, 'perf.data')).file()
        return f'{name} converted to big-endian', {'perf.data': data}, list(folds)
    return make


for _name, _folds in (
        ('fp-threads', FOLD), ('memory', FOLD),
        ('mixed', [('folded.txt', '--event raw_syscalls:sys_enter --no-symbols')]),
        ('offcpu', [('folded.txt', '--event sched:sched_switch --no-symbols')])):
    CASES[f'big-endian-{_name}'] = big_endian(_name, *_folds)


def write(name):
    what, files, folds = CASES[name]()
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    for file, data in files.items():
        with open(os.path.join(folder, file), 'wb') as out:
            out.write(data)
    with open(os.path.join(folder, 'how.txt'), 'w', encoding='utf-8') as out:
        out.write(f'shows: {what}\ncommand: scripts/make_perf_cases.py {name}\n')
    expect = [sys.executable, os.path.join(TOP, 'scripts', 'perf_expect.py')]
    data = os.path.join(folder, 'perf.data')
    with open(os.path.join(folder, 'facts.txt'), 'wb') as out:
        subprocess.run(expect + ['facts', data], stdout=out, check=True)
    with open(os.path.join(folder, 'folds'), 'w', encoding='utf-8') as table:
        for file, options in folds:
            table.write(f'{file} {options}\n')
            own = [o for o in options.split() if o != '--no-symbols']
            with open(os.path.join(folder, file), 'wb') as out:
                subprocess.run(expect + ['fold', data] + own, stdout=out, check=True)


def main():
    for name in sys.argv[1:] or CASES:
        write(name)


if __name__ == '__main__':
    main()
