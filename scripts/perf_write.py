#!/usr/bin/env python3
"""perf_write.py - builds perf.data files of any layout, for make_perf_cases.py.

Knows how the bytes lie; what they mean, and which cases there are, is not its business.
"""
import ctypes
import struct

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
