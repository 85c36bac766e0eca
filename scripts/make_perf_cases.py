#!/usr/bin/env python3
"""make_perf_cases.py - writes the cases of testdata/perf that no recorder of today produces.

    make_perf_cases.py [CASE...]

Layouts newer or older than the recorder at hand, record types that need hardware, and combinations
that are rare. Every case is small and says in how.txt what it holds; facts.txt and the folds come
from perf_expect.py, which shares no code with this writer but the format.
"""
import ctypes
import os
import struct
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, 'testdata', 'perf')
IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS_USER, STACK_USER, \
    WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS, AUX, CGROUP, DATA_PAGE, CODE_PAGE, \
    WEIGHT_STRUCT = (1 << i for i in range(25))
USUAL = IP | TID | TIME | CHAIN | PERIOD
FREQ, SAMPLE_ID_ALL, EXCLUDE_GUEST = 1 << 10, 1 << 18, 1 << 20
FLAGS = FREQ | SAMPLE_ID_ALL | EXCLUDE_GUEST  # as perf record sets them
KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
T0 = 5_000_000_000  # the first time stamp of every file


def u(fmt, *values):
    return struct.pack('<' + fmt, *values)


def padded(text):
    raw = text.encode() + b'\0'
    return raw.ljust((len(raw) + 7) // 8 * 8, b'\0')


def feature_text(text):
    raw = text.encode() + b'\0'
    size = (len(raw) + 63) // 64 * 64
    return u('I', size) + raw.ljust(size, b'\0')


class Event:
    """One perf_event_attr and its ids."""

    def __init__(self, sample_type=USUAL, kind=1, config=0, ids=(), flags=FLAGS,
                 period=1000, read_format=4, size=128, name=None, branch_type=0, regs_user=0,
                 regs_intr=0):
        self.sample_type, self.ids, self.flags, self.size, self.name = \
            sample_type, list(ids), flags, size, name
        raw = u('IIQQQQQ', kind, size, config, period, sample_type, read_format, flags)
        raw += u('IIQQ', 0, 0, 0, 0)  # wakeup, bp_type, bp_addr, bp_len
        raw += u('QQIiQ', branch_type, regs_user, 0, 0, regs_intr)
        raw = raw.ljust(144, b'\0')
        self.raw = raw[:size] if size <= len(raw) else raw.ljust(size, b'\x5a')


class File:
    """Records in the order in which they are added; times count up by 1 us unless given."""

    def __init__(self, *events, trailer=True):
        self.events, self.trailer, self.now = list(events), trailer, T0
        self.body, self.features = b'', {}

    def tick(self, time):
        now = self.now + 1000 if time is None else time
        self.now = max(self.now, now)
        return now

    def record(self, kind, body, misc=0, pid=100, tid=100, time=None, ident=None):
        now = self.tick(time) if time != 'none' else 0
        if self.trailer and kind < 64:
            st = self.events[0].sample_type
            body += u('ii', pid, tid) if st & TID else b''
            body += u('Q', now) if st & TIME else b''
            own = self.events[0].ids[0] if self.events[0].ids else 0
            body += u('Q', own if ident is None else ident) if st & ID else b''
            body += u('Q', own if ident is None else ident) if st & STREAM else b''
            body += u('II', 0, 0) if st & CPU else b''
            body += u('Q', own if ident is None else ident) if st & IDENTIFIER else b''
        self.body += u('IHH', kind, misc, len(body) + 8) + body
        return now

    def mmap(self, path, start, size, offset=0, pid=100, misc=2, old=False, time=None):
        body = u('iiQQQ', pid, pid, start, size, offset)
        if not old:
            body += u('IIQQII', 8, 1, 4711, 1, 5, 2)
        self.record(1 if old else 10, body + padded(path), misc, pid, pid, time)

    def comm(self, name, pid=100, tid=None, is_exec=False, time=None):
        tid = pid if tid is None else tid
        self.record(3, u('ii', pid, tid) + padded(name), 1 << 13 if is_exec else 0, pid, tid, time)

    def fork(self, pid, ppid, tid=None, ptid=None, time=None):
        now = self.tick(time)
        body = u('iiiiQ', pid, ppid, pid if tid is None else tid, ppid if ptid is None else ptid,
                 now)
        self.record(7, body, 0, ppid, ppid, now)

    def exit(self, pid, tid=None, time=None):
        now = self.tick(time)
        tid = pid if tid is None else tid
        self.record(4, u('iiiiQ', pid, pid, tid, pid, now), 0, pid, tid, now)

    def sample(self, chain=(), ip=None, pid=100, tid=None, time=None, period=1000, misc=2, event=0,
               ident=None, fields=None):
        """`fields` holds the bytes of what is not named here, by sample_type bit."""
        st, now = self.events[event].sample_type, self.tick(time)
        own = self.events[event].ids[0] if self.events[event].ids else 0
        own = own if ident is None else ident
        fields = dict(fields or {})
        plain = [c for c in chain if c < (1 << 64) - 4095]
        fields.setdefault(IP, u('Q', ip if ip is not None else plain[0] if plain else 0))
        fields.setdefault(TID, u('ii', pid, pid if tid is None else tid))
        for bit, raw in ((IDENTIFIER, u('Q', own)), (TIME, u('Q', now)), (ID, u('Q', own)),
                         (ADDR, u('Q', 0)), (CPU, u('II', 0, 0)), (STREAM, u('Q', own)),
                         (PERIOD, u('Q', period)),
                         (CHAIN, u('Q', len(chain)) + u(f'{len(chain)}Q', *chain))):
            fields.setdefault(bit, raw)
        order = (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD, READ, CHAIN, RAW, BRANCH,
                 REGS_USER, STACK_USER, WEIGHT, WEIGHT_STRUCT, DATA_SRC, TRANSACTION, REGS_INTR,
                 PHYS, CGROUP, DATA_PAGE, CODE_PAGE, AUX)
        body = b''.join(fields[bit] for bit in order if st & bit)
        self.body += u('IHH', 9, misc, len(body) + 8) + body

    def round(self):
        self.record(68, b'')

    def program(self, pid=100, name='prog', time=None):
        """What every file begins with: kernel, a process `prog` and the map of its binary."""
        if b'kallsyms' not in self.body:
            text = 0xffffffff81000000
            self.record(1, u('iiQQQ', -1, 0, text, 1 << 24, text) +
                        padded('[kernel.kallsyms]_text'), 1, 0, 0, time)
        self.comm(name, pid, is_exec=True, time=time)
        self.mmap(f'/srv/{name}', 0x400000, 0x2000, pid=pid)

    def names(self):
        """EVENT_DESC"""
        size = max(e.size for e in self.events)
        out = u('II', len(self.events), size)
        for e in self.events:
            out += e.raw.ljust(size, b'\0') + u('I', len(e.ids)) + feature_text(e.name or 'cpu-clock')
            out += u(f'{len(e.ids)}Q', *e.ids)
        self.features[12] = out

    def file(self, header_size=104, stride=None, magic=b'PERFILE2'):
        stride = stride or max(e.size for e in self.events) + 16
        self.features.setdefault(3, feature_text('written'))
        if header_size < 104:
            self.features = {}
        at, ids, attrs = header_size, b'', b''
        for e in self.events:
            attrs += e.raw.ljust(stride - 16, b'\0') + u('QQ', at, 8 * len(e.ids))
            ids += u(f'{len(e.ids)}Q', *e.ids)
            at += 8 * len(e.ids)
        data_at = at + len(attrs)
        table_at = data_at + len(self.body)
        put, table, sections = table_at + 16 * len(self.features), b'', b''
        bits = 0
        for bit, raw in sorted(self.features.items()):
            table += u('QQ', put + len(sections), len(raw))
            sections += raw
            bits |= 1 << bit
        head = magic + u('QQQQQQQQ', header_size, stride, at, len(attrs), data_at, len(self.body),
                         0, 0) + bits.to_bytes(32, 'little')
        return head[:header_size] + ids + attrs + self.body + table + sections

    def pipe(self, with_attrs=True):
        head = b'PERFILE2' + u('Q', 16)
        for e in self.events if with_attrs else ():
            body = e.raw + u(f'{len(e.ids)}Q', *e.ids)
            head += u('IHH', 64, 0, len(body) + 8) + body
        return head + self.body


class Zstd:
    """A compressor that never ends its frame, as perf's."""

    class Buffer(ctypes.Structure):
        _fields_ = [('ptr', ctypes.c_void_p), ('size', ctypes.c_size_t), ('pos', ctypes.c_size_t)]

    def __init__(self):
        self.z = ctypes.CDLL('libzstd.so.1')
        self.z.ZSTD_createCStream.restype = ctypes.c_void_p
        self.z.ZSTD_compressStream.argtypes = [ctypes.c_void_p] * 3
        self.z.ZSTD_flushStream.argtypes = [ctypes.c_void_p] * 2
        self.z.ZSTD_initCStream.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.s = ctypes.c_void_p(self.z.ZSTD_createCStream())
        self.z.ZSTD_initCStream(self.s, 3)

    def chunk(self, data):
        src = ctypes.create_string_buffer(data, len(data))
        room = ctypes.create_string_buffer(1 << 16)
        i = self.Buffer(ctypes.cast(src, ctypes.c_void_p), len(data), 0)
        o = self.Buffer(ctypes.cast(room, ctypes.c_void_p), 1 << 16, 0)
        self.z.ZSTD_compressStream(self.s, ctypes.byref(o), ctypes.byref(i))
        self.z.ZSTD_flushStream(self.s, ctypes.byref(o))
        return room.raw[:o.pos]


def compressed(records, cuts, kind=83):
    """`records` as COMPRESSED or COMPRESSED2 records that end at the given byte counts."""
    z, out, begin = Zstd(), b'', 0
    for end in list(cuts) + [len(records)]:
        raw = z.chunk(records[begin:end])
        begin = end
        if kind == 83:
            body = u('Q', len(raw)) + raw + b'\0' * (-len(raw) % 8)
        else:
            body = raw
        out += u('IHH', kind, 0, len(body) + 8) + body
    return out


def some_samples(f, n=12, **more):
    """n samples of three user stacks, in three of twelve below a kernel function."""
    for i in range(n):
        user = [USER, 0x400100 + 16 * (i % 3), 0x400205, 0x400305]
        kernel = [KERNEL, 0xffffffff81000100, 0xffffffff81000205]
        in_kernel = i % 4 == 3
        f.sample(kernel + user if in_kernel else user, period=1000 + i, misc=1 if in_kernel else 2,
                 **more)


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
