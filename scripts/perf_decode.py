#!/usr/bin/env python3
"""perf_decode.py - a second, slow reader of perf.data, to state facts about test recordings with.

Knows the format from the kernel's perf_event.h and perf's perf.data-file-format.txt alone and shares
nothing with the program under test. Used by perf_expect.py, perf_big_endian.py and
make_perf_cases.py. `perf_decode.py FILE` prints the records of a file, one a line.
"""
import ctypes
import os
import struct
import sys

RECORD = {
    1: 'MMAP', 2: 'LOST', 3: 'COMM', 4: 'EXIT', 5: 'THROTTLE', 6: 'UNTHROTTLE', 7: 'FORK',
    8: 'READ', 9: 'SAMPLE', 10: 'MMAP2', 11: 'AUX', 12: 'ITRACE_START', 13: 'LOST_SAMPLES',
    14: 'SWITCH', 15: 'SWITCH_CPU_WIDE', 16: 'NAMESPACES', 17: 'KSYMBOL', 18: 'BPF_EVENT',
    19: 'CGROUP', 20: 'TEXT_POKE', 21: 'AUX_OUTPUT_HW_ID', 22: 'CALLCHAIN_DEFERRED',
    64: 'HEADER_ATTR', 65: 'EVENT_TYPE', 66: 'TRACING_DATA', 67: 'BUILD_ID',
    68: 'FINISHED_ROUND', 69: 'ID_INDEX', 70: 'AUXTRACE_INFO', 71: 'AUXTRACE',
    72: 'AUXTRACE_ERROR', 73: 'THREAD_MAP', 74: 'CPU_MAP', 75: 'STAT_CONFIG', 76: 'STAT',
    77: 'STAT_ROUND', 78: 'EVENT_UPDATE', 79: 'TIME_CONV', 80: 'FEATURE', 81: 'COMPRESSED',
    82: 'FINISHED_INIT', 83: 'COMPRESSED2', 84: 'BPF_METADATA',
}
# attr.sample_type
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS_USER, STACK_USER, \
    WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE_SIZE, \
    CODE_PAGE_SIZE, WEIGHT_STRUCT = (1 << i for i in range(25))
# attr.read_format
R_ENABLED, R_RUNNING, R_ID, R_GROUP, R_LOST = (1 << i for i in range(5))
# header features
F_TRACING, F_BUILD_ID, F_HOSTNAME, F_OSRELEASE, F_VERSION, F_ARCH, F_CMDLINE, F_EVENT_DESC = \
    1, 2, 3, 4, 5, 6, 11, 12
F_CLOCKID, F_CLOCK_DATA = 23, 29
MARK = (1 << 64) - 4095  # call chain entries from here on are context marks


class Damage(Exception):
    """What made the reader stop; the records before it are kept."""


class Stream:
    """zstd as a stream, by the library itself: perf never ends its frames."""

    class Buffer(ctypes.Structure):
        _fields_ = [('ptr', ctypes.c_void_p), ('size', ctypes.c_size_t), ('pos', ctypes.c_size_t)]

    def __init__(self):
        self.z = ctypes.CDLL('libzstd.so.1')
        self.z.ZSTD_createDStream.restype = ctypes.c_void_p
        self.z.ZSTD_decompressStream.argtypes = [ctypes.c_void_p] * 3
        self.z.ZSTD_decompressStream.restype = ctypes.c_size_t
        self.s = ctypes.c_void_p(self.z.ZSTD_createDStream())

    def feed(self, data):
        src = ctypes.create_string_buffer(data, len(data))
        i = self.Buffer(ctypes.cast(src, ctypes.c_void_p), len(data), 0)
        out = b''
        room = ctypes.create_string_buffer(1 << 16)
        while True:
            o = self.Buffer(ctypes.cast(room, ctypes.c_void_p), 1 << 16, 0)
            r = self.z.ZSTD_decompressStream(self.s, ctypes.byref(o), ctypes.byref(i))
            if r > (1 << 63):
                raise Damage('zstd')
            out += room.raw[:o.pos]
            if i.pos == i.size and o.pos < o.size:
                return out


class Attr:
    def __init__(self, raw, e):
        raw = raw[:struct.unpack_from(e + 'I', raw, 4)[0] or 64]
        self.raw = raw
        raw = raw.ljust(144, b'\0')
        (self.type, self.size, self.config, self.period, self.sample_type, self.read_format) = \
            struct.unpack_from(e + 'IIQQQQ', raw)
        if e == '>':
            flags = bytes(int(f'{b:08b}'[::-1], 2) for b in raw[40:48])
        else:
            flags = raw[40:48]
        self.flags = int.from_bytes(flags, 'little')
        (self.branch_type, self.regs_user, self.stack_user, self.clockid, self.regs_intr) = \
            struct.unpack_from(e + 'QQIiQ', raw, 72)
        self.freq = bool(self.flags >> 10 & 1)
        self.sample_id_all = bool(self.flags >> 18 & 1)
        self.ids = []
        self.name = None

    def modifiers(self):
        """What perf appends to a name that the file does not hold."""
        user, kernel, hv, host, guest = (not self.flags >> bit & 1 for bit in (4, 5, 6, 19, 20))
        out, by_default = '', False
        if not (user and kernel and hv):
            out, by_default = 'k' * kernel + 'u' * user + 'h' * hv, True
        if self.flags >> 15 & 3:
            out, by_default = out + 'p' * (self.flags >> 15 & 3), True
        if not host or (not guest) == by_default:
            out += 'H' * host + 'G' * guest
        return ':' + out if out else ''


class Record:
    __slots__ = ('type', 'misc', 'body', 'offset', 'part', 'order', 'payload', 'compressed')

    def __init__(self, kind, misc, body, offset, part, order):
        self.type, self.misc, self.body, self.offset, self.part, self.order = \
            kind, misc, body, offset, part, order
        self.payload = b''  # bytes that follow the record outside its size
        self.compressed = False

    @property
    def name(self):
        return RECORD.get(self.type, str(self.type))


class Perf:
    def __init__(self, path):
        self.records, self.attrs, self.features, self.damage = [], [], {}, None
        self.event_types = {}  # config -> name, in old files
        self.is_dir = os.path.isdir(path)
        main = os.path.join(path, 'data') if self.is_dir else path
        self.data = open(main, 'rb').read()
        self.header()
        self.walk(self.data, self.data_begin, self.data_end, 0)
        if self.is_dir:
            n = 0
            while os.path.exists(os.path.join(path, f'data.{n}')):
                part = open(os.path.join(path, f'data.{n}'), 'rb').read()
                n += 1
                self.walk(part, 0, len(part), n)
        self.by_id = {i: a for a in self.attrs for i in a.ids}
        self.names()

    def header(self):
        d = self.data
        self.e = e = {b'PERFILE2': '<', b'2ELIFREP': '>'}[d[:8]]
        self.header_size, = struct.unpack_from(e + 'Q', d, 8)
        self.is_pipe = self.header_size == 16
        self.data_begin, self.data_end = 16, len(d)
        if self.is_pipe:
            return
        attr_size, at, size, self.data_begin, n = struct.unpack_from(e + '5Q', d, 16)
        bits = struct.unpack_from(e + '4Q', d, 72) if self.header_size >= 104 else (0,) * 4
        self.feature_bits = [i for i in range(256) if bits[i // 64] >> i % 64 & 1]
        self.data_end = self.data_begin + n if n else len(d)
        for i in range(size // attr_size if attr_size else 0):
            a = Attr(d[at + i * attr_size:at + (i + 1) * attr_size - 16], e)
            ids_at, ids_size = struct.unpack_from(e + 'QQ', d, at + (i + 1) * attr_size - 16)
            a.ids = list(struct.unpack_from(f'{e}{ids_size // 8}Q', d, ids_at))
            self.attrs.append(a)
        if n:
            for i, bit in enumerate(self.feature_bits):
                o, s = struct.unpack_from(e + 'QQ', d, self.data_end + 16 * i)
                self.features[bit] = d[o:o + s]

    def walk(self, d, at, end, part):
        e, stream, inner, order = self.e, None, b'', 0
        try:
            while at < end:
                if at + 8 > end:
                    raise Damage(f'{end - at} bytes left at {at}')
                kind, misc, size = struct.unpack_from(e + 'IHH', d, at)
                if size < 8 or at + size > end:
                    raise Damage(f'record size {size} at {at}, {end - at} left')
                r = Record(kind, misc, d[at + 8:at + size], at, part, order)
                order += 1
                self.records.append(r)
                at += size
                extra = 0
                if kind == 66 and self.is_pipe:
                    extra = (struct.unpack_from(e + 'I', r.body)[0] + 7) // 8 * 8
                if kind == 71:
                    extra, = struct.unpack_from(e + 'Q', r.body)
                r.payload, at = d[at:at + extra], at + extra
                if kind in (64, 65, 66, 78, 80):
                    self.pipe_header(r)
                if kind in (81, 83):
                    stream = stream or Stream()
                    chunk = r.body
                    if kind == 83:
                        n, = struct.unpack_from(e + 'Q', chunk)
                        chunk = chunk[8:8 + n]
                    inner += stream.feed(chunk)
                    while len(inner) >= 8:
                        kind, misc, size = struct.unpack_from(e + 'IHH', inner)
                        if len(inner) < size:
                            break
                        i = Record(kind, misc, inner[8:size], r.offset, part, order)
                        i.compressed = True
                        order += 1
                        self.records.append(i)
                        inner = inner[size:]
        except Damage as why:
            self.damage = str(why)

    def pipe_header(self, r):
        e = self.e
        if r.type == 64:
            size = struct.unpack_from(e + 'I', r.body, 4)[0] or 64
            a = Attr(r.body[:size], e)
            a.ids = list(struct.unpack_from(f'{e}{(len(r.body) - size) // 8}Q', r.body, size))
            self.attrs.append(a)
        elif r.type == 65:
            self.event_types[struct.unpack_from(e + 'Q', r.body)[0]] = text(r.body[8:])
        elif r.type == 66 and self.is_pipe:
            self.features[F_TRACING] = r.payload
        elif r.type == 78:
            what, ident = struct.unpack_from(e + 'QQ', r.body)
            for a in self.attrs:
                if what == 2 and ident in a.ids:
                    a.name = text(r.body[16:])
        elif r.type == 80:
            bit, = struct.unpack_from(e + 'Q', r.body)
            self.features[bit] = r.body[8:]

    def string_feature(self, bit):
        b = self.features.get(bit)
        return text(b[4:]) if b else None

    def names(self):
        d, e = self.features.get(F_EVENT_DESC), self.e
        if d:
            n, size = struct.unpack_from(e + 'II', d)
            at = 8
            for i in range(n):
                at += size
                ids, length = struct.unpack_from(e + 'II', d, at)
                name = text(d[at + 8:at + 8 + length])
                at += 8 + length
                for ident in struct.unpack_from(f'{e}{ids}Q', d, at):
                    if ident in self.by_id:
                        self.by_id[ident].name = name
                if not ids and i < len(self.attrs):
                    self.attrs[i].name = name
                at += 8 * ids
        formats = self.formats()
        for a in self.attrs:
            if a.name is None:
                a.name = self.event_types.get(a.config)
            if a.name is None:
                a.name = {(1, 0): 'cpu-clock', (1, 1): 'task-clock', (1, 2): 'page-faults',
                          (1, 9): 'dummy'}.get((a.type, a.config))
                a.name = a.name and a.name + a.modifiers()
            if a.name is None and a.type == 2 and a.config in formats:
                a.name = formats[a.config][0]
            if a.name is None and a.type == 2:
                a.name = f'tracepoint:{a.config}'
            a.name = a.name or f'{a.type}:{a.config:#x}'

    def formats(self):
        """id -> (system:name, {field: (offset, size, element size, signed)})"""
        d = self.features.get(F_TRACING)
        out = {}
        if not d:
            return out
        e, at = ('>' if d[14] else '<') if d[10:14] == b'0.6\0' else self.e, 10
        at = d.index(b'\0', at) + 1 + 1 + 1 + 4
        for word in (b'header_page\0', b'header_event\0'):
            at += len(word)
            at += 8 + struct.unpack_from(e + 'Q', d, at)[0]
        n, = struct.unpack_from(e + 'I', d, at)
        at += 4
        for _ in range(n):
            at += 8 + struct.unpack_from(e + 'Q', d, at)[0]
        systems, = struct.unpack_from(e + 'I', d, at)
        at += 4
        for _ in range(systems):
            end = d.index(b'\0', at)
            system = d[at:end].decode()
            n, = struct.unpack_from(e + 'I', d, end + 1)
            at = end + 5
            for _ in range(n):
                size, = struct.unpack_from(e + 'Q', d, at)
                number, name, fields = parse_format(d[at + 8:at + 8 + size].decode())
                out[number] = (f'{system}:{name}', fields)
                at += 8 + size
        return out

    def attr_of(self, ident):
        return self.by_id.get(ident) or (self.attrs[0] if self.attrs else None)

    def sample(self, r):
        """The fields of a SAMPLE as a dictionary."""
        e, b, at = self.e, r.body, 0
        a = self.attrs[0]
        if a.sample_type & IDENTIFIER:
            a = self.attr_of(struct.unpack_from(e + 'Q', b)[0])
        elif a.sample_type & ID:
            p = 8 * bin(a.sample_type & (IP | TID | TIME | ADDR)).count('1')
            a = self.attr_of(struct.unpack_from(e + 'Q', b, p)[0])
        st, s = a.sample_type, {'attr': a}

        def get(fmt):
            nonlocal at
            v = struct.unpack_from(e + fmt, b, at)
            at += struct.calcsize(e + fmt)
            return v if len(v) > 1 else v[0]
        for bit, key, fmt in ((IDENTIFIER, 'id', 'Q'), (IP, 'ip', 'Q'), (TID, 'task', 'ii'),
                              (TIME, 'time', 'Q'), (ADDR, 'addr', 'Q'), (ID, 'id', 'Q'),
                              (STREAM, 'stream', 'Q'), (CPU, 'cpu', 'II'), (PERIOD, 'period', 'Q')):
            if st & bit:
                s[key] = get(fmt)
        s.setdefault('period', a.period)
        if 'cpu' in s:
            s['cpu'] = s['cpu'][0]
        if st & READ:
            s['read'] = self.read_values(a, get)
        if st & CALLCHAIN:
            n = get('Q')
            s['chain'] = list(struct.unpack_from(f'{e}{n}Q', b, at))
            at += 8 * n
        if st & RAW:
            n = get('I')
            s['raw'] = b[at:at + n]
            at += n
        if st & BRANCH:
            n = get('Q')
            at += (8 if a.branch_type >> 17 & 1 else 0) + 24 * n
        if st & REGS_USER:
            s['regs_abi'] = get('Q')
            if s['regs_abi']:
                n = bin(a.regs_user).count('1')
                s['regs'] = struct.unpack_from(f'{e}{n}Q', b, at)
                at += 8 * n
        if st & STACK_USER:
            n = get('Q')
            s['stack'] = b[at:at + n]
            at += n + (8 if n else 0)
        for bit, key in ((WEIGHT | WEIGHT_STRUCT, 'weight'), (DATA_SRC, 'data_src'),
                         (TRANSACTION, 'transaction')):
            if st & bit:
                s[key] = get('Q')
        if st & REGS_INTR:
            s['intr_abi'] = get('Q')
            if s['intr_abi']:
                at += 8 * bin(a.regs_intr).count('1')
        for bit, key in ((PHYS_ADDR, 'phys'), (CGROUP, 'cgroup'), (DATA_PAGE_SIZE, 'data_page'),
                         (CODE_PAGE_SIZE, 'code_page')):
            if st & bit:
                s[key] = get('Q')
        s['end'] = at
        return s

    def read_values(self, a, get):
        rf, out = a.read_format, []
        n = get('Q') if rf & R_GROUP else 1
        if rf & R_GROUP:
            for bit in (R_ENABLED, R_RUNNING):
                if rf & bit:
                    get('Q')
        for _ in range(n):
            v = get('Q')
            if not rf & R_GROUP:
                for bit in (R_ENABLED, R_RUNNING):
                    if rf & bit:
                        get('Q')
            ident = get('Q') if rf & R_ID else None
            if rf & R_LOST:
                get('Q')
            out.append((ident, v))
        return out

    def trailer(self, r):
        """What every record but SAMPLE ends with: a dictionary, and the body without it."""
        a = self.attrs[0] if self.attrs else None
        if not a or not a.sample_id_all or r.type >= 64 or r.type not in RECORD:
            return {}, r.body
        st = a.sample_type
        fields = [(bit, key, fmt) for bit, key, fmt in
                  ((TID, 'task', 'ii'), (TIME, 'time', 'Q'), (ID, 'id', 'Q'),
                   (STREAM, 'stream', 'Q'), (CPU, 'cpu', 'II'), (IDENTIFIER, 'id', 'Q')) if st & bit]
        at = len(r.body) - 8 * len(fields)
        body, out = r.body[:at], {}
        for _, key, fmt in fields:
            v = struct.unpack_from(self.e + fmt, r.body, at)
            out[key] = v if len(v) > 1 else v[0]
            at += 8
        return out, body


def text(b):
    return b.split(b'\0')[0].decode('utf-8', 'surrogateescape')


def parse_format(t):
    name = number = None
    fields = {}
    for line in t.splitlines():
        if line.startswith('name: '):
            name = line[6:]
        elif line.startswith('ID: '):
            number = int(line[4:])
        elif line.startswith('\tfield:'):
            p = dict(x.strip().split(':', 1) for x in line.strip().strip(';').split(';'))
            decl = p['field']
            key = decl.split('[')[0].split()[-1]
            size, count = int(p['size']), 1
            if '[' in decl and not decl.startswith(('__data_loc', '__rel_loc')):
                inside = decl[decl.index('[') + 1:decl.index(']')]
                count = int(inside) if inside.isdigit() else size
            element = 0 if decl.startswith(('__data_loc', '__rel_loc')) else size // max(count, 1)
            fields[key] = (int(p['offset']), size, element, p['signed'] == '1')
    return number, name, fields


def main():
    p = Perf(sys.argv[1])
    for i, a in enumerate(p.attrs):
        print(f'attr {i} {a.name} type={a.type} config={a.config:#x} size={a.size} '
              f'sample_type={a.sample_type:#x} read_format={a.read_format:#x} flags={a.flags:#x} '
              f'ids={len(a.ids)}')
    for r in p.records:
        if r.type == 9:
            s = p.sample(r)
            s['attr'] = s['attr'].name
            s.pop('stack', None)
            print(r.part, r.offset, r.name, s)
        else:
            print(r.part, r.offset, r.name, f'{r.misc:#x}', p.trailer(r)[0], r.body[:64])
    print(f'features {sorted(p.features)} damage {p.damage}')


if __name__ == '__main__':
    main()
