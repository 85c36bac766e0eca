#!/usr/bin/env python3
"""perf_big_endian.py - a little-endian perf.data file as a big-endian machine would have written it.

    perf_big_endian.py IN OUT

Swaps what the kernel and perf write as numbers: headers, attributes (whose flag bits change their
order within each byte), records, features, tracepoint formats and payloads. Features that are not
listed below are left out. Files only: no pipes, no compression, no stacks to unwind.
"""
import struct
import sys

import perf_decode as pd

# bodies without trailer: codes of struct; * is the rest as it is, Q* numbers of 8 bytes to the end
LAYOUT = {1: 'iiQQQ*', 2: 'QQ', 3: 'ii*', 4: 'iiiiQ', 5: 'QQQ', 6: 'QQQ', 7: 'iiiiQ', 8: 'iiQ*',
          11: 'QQQ', 12: 'ii', 13: 'Q', 14: '', 15: 'ii', 16: 'iiQQ*', 17: 'QIHH*', 18: 'HHI*',
          19: 'Q*', 68: '', 69: 'QQ*', 82: ''}
NUMBERS_TO_END = (8, 16, 69)


def swap(codes, raw, at=0):
    """`raw` from `at` on by these codes; what they do not reach stays away."""
    values = struct.unpack_from('<' + codes, raw, at)
    return struct.pack('>' + codes, *values)


def swap_all(size, raw):
    """Numbers of `size` bytes, one after the other."""
    return b''.join(raw[i:i + size][::-1] for i in range(0, len(raw), size))


def layout(codes, raw, is_numbers):
    plain = codes.rstrip('*')
    if is_numbers:
        plain = plain[:-1]
    size = struct.calcsize('<' + plain)
    rest = raw[size:]
    return swap(plain, raw) + (swap_all(8, rest) if is_numbers else rest)


class Converter:
    def __init__(self, path):
        self.p = pd.Perf(path)
        assert self.p.e == '<' and not self.p.is_pipe
        self.formats = self.p.formats()

    def attr(self, a):
        raw = a.raw
        out = swap('IIQQQQ', raw) + bytes(int(f'{b:08b}'[::-1], 2) for b in raw[40:48])
        at = 48
        for code in 'IIQQQQIiQIHHIIQ':
            if at + struct.calcsize(code) > len(raw):
                break
            out += swap(code, raw, at)
            at += struct.calcsize(code)
        return out + raw[at:]

    def record(self, r):
        if r.type == 9:
            return self.sample(r)
        if r.type in (73, 74, 78, 79):
            return b''  # of no use to a reader of files
        tail, body = self.p.trailer(r)
        if r.type == 10:
            inode = body[32:56] if r.misc & 1 << 14 else swap('IIQQ', body, 32)
            out = swap('iiQQQ', body) + inode + swap('II', body, 56) + body[64:]
        else:
            out = layout(LAYOUT[r.type], body, r.type in NUMBERS_TO_END)
        end = r.body[len(body):]
        codes = {'task': 'ii', 'cpu': 'II'}
        out += swap(''.join(codes.get(key, 'Q') for key in self.tail_keys()), end) if tail else b''
        return struct.pack('>IHH', r.type, r.misc, 8 + len(out)) + out

    def tail_keys(self):
        st = self.p.attrs[0].sample_type
        return [key for bit, key in ((pd.TID, 'task'), (pd.TIME, 'time'), (pd.ID, 'id'),
                                     (pd.STREAM, 'stream'), (pd.CPU, 'cpu'),
                                     (pd.IDENTIFIER, 'identifier')) if st & bit]

    def sample(self, r):
        b, s = r.body, self.p.sample(r)
        a, out, at = s['attr'], b'', 0
        st = a.sample_type
        for bit, codes in ((pd.IDENTIFIER, 'Q'), (pd.IP, 'Q'), (pd.TID, 'ii'), (pd.TIME, 'Q'),
                           (pd.ADDR, 'Q'), (pd.ID, 'Q'), (pd.STREAM, 'Q'), (pd.CPU, 'II'),
                           (pd.PERIOD, 'Q')):
            if st & bit:
                out += swap(codes, b, at)
                at += 8
        assert not st & (pd.READ | pd.BRANCH | pd.REGS_USER | pd.STACK_USER | pd.REGS_INTR)
        if st & pd.CALLCHAIN:
            n = 8 + 8 * len(s['chain'])
            out += swap_all(8, b[at:at + n])
            at += n
        if st & pd.RAW:
            n = len(s['raw'])
            out += struct.pack('>I', n) + self.payload(a, s['raw'])
            at += 4 + n
        for bit, codes in ((pd.WEIGHT, 'Q'), (pd.WEIGHT_STRUCT, 'IHH'), (pd.DATA_SRC, 'Q'),
                           (pd.TRANSACTION, 'Q'), (pd.PHYS_ADDR, 'Q'), (pd.CGROUP, 'Q'),
                           (pd.DATA_PAGE_SIZE, 'Q'), (pd.CODE_PAGE_SIZE, 'Q')):
            if st & bit:
                out += swap(codes, b, at)
                at += 8
        assert at == len(b)
        return struct.pack('>IHH', r.type, r.misc, 8 + len(out)) + out

    def payload(self, a, raw):
        out = bytearray(raw)
        for offset, size, element, _ in self.formats[a.config][1].values():
            element = element or 4  # __data_loc is one number
            out[offset:offset + size] = swap_all(element, raw[offset:offset + size])
        return bytes(out)

    def tracing(self, d):
        out, at = d[:14] + b'\1' + d[15:16] + swap('I', d, 16), 20

        def sized(code):
            nonlocal at
            n, = struct.unpack_from('<' + code, d, at)
            width = struct.calcsize(code)
            piece = swap(code, d, at) + d[at + width:at + width + n]
            at += width + n
            return piece

        def count():
            nonlocal at
            n, = struct.unpack_from('<I', d, at)
            at += 4
            return n
        assert d[:14] == b'\x17\x08\x44tracing0.6\0'
        for word in (b'header_page\0', b'header_event\0'):
            out += word
            at += len(word)
            out += sized('Q')
        n = count()
        out += struct.pack('>I', n) + b''.join(sized('Q') for _ in range(n))
        systems = count()
        out += struct.pack('>I', systems)
        for _ in range(systems):
            end = d.index(b'\0', at) + 1
            out += d[at:end]
            at = end
            n = count()
            out += struct.pack('>I', n) + b''.join(sized('Q') for _ in range(n))
        return out + sized('I') + sized('I') + sized('Q')  # kallsyms, printk formats, comms

    def strings(self, d, at, n):
        out = b''
        for _ in range(n):
            size, = struct.unpack_from('<I', d, at)
            out += swap('I', d, at) + d[at + 4:at + 4 + size]
            at += 4 + size
        return out

    def feature(self, bit, d):
        if bit == pd.F_TRACING:
            return self.tracing(d)
        if bit == pd.F_BUILD_ID:
            out, at = b'', 0
            while at < len(d):
                size, = struct.unpack_from('<H', d, at + 6)
                out += swap('IHHi', d, at) + d[at + 12:at + size]
                at += size
            return out
        if bit in (pd.F_HOSTNAME, pd.F_OSRELEASE, pd.F_VERSION, 6, 8, 9):
            return self.strings(d, 0, 1)
        if bit == pd.F_CMDLINE:
            return swap('I', d) + self.strings(d, 4, struct.unpack_from('<I', d)[0])
        if bit == pd.F_EVENT_DESC:
            n, size = struct.unpack_from('<II', d)
            out, at = swap('II', d), 8
            for _ in range(n):
                out += self.attr(pd.Attr(d[at:at + size], '<')).ljust(size, b'\0')
                at += size
                ids, length = struct.unpack_from('<II', d, at)
                out += swap('II', d, at) + d[at + 8:at + 8 + length]
                at += 8 + length
                out += swap_all(8, d[at:at + 8 * ids])
                at += 8 * ids
            return out
        codes = {7: 'II', 10: 'Q', 21: 'QQ', pd.F_CLOCKID: 'Q', pd.F_CLOCK_DATA: 'IIQQ'}.get(bit)
        return swap(codes, d) if codes else None

    def file(self):
        p, ids, attrs, at = self.p, b'', b'', 104
        stride = max(len(a.raw) for a in p.attrs) + 16
        for a in p.attrs:
            attrs += self.attr(a).ljust(stride - 16, b'\0') + struct.pack('>QQ', at, 8 * len(a.ids))
            ids += struct.pack(f'>{len(a.ids)}Q', *a.ids)
            at += 8 * len(a.ids)
        data = b''.join(self.record(r) for r in p.records)
        features = {bit: self.feature(bit, d) for bit, d in p.features.items()}
        features = {bit: d for bit, d in sorted(features.items()) if d is not None}
        data_at = at + len(attrs)
        put = data_at + len(data) + 16 * len(features)
        table = sections = b''
        for d in features.values():
            table += struct.pack('>QQ', put + len(sections), len(d))
            sections += d
        bits = sum(1 << bit for bit in features)
        words = [bits >> shift & (1 << 64) - 1 for shift in (0, 64, 128, 192)]
        head = b'2ELIFREP' + struct.pack('>8Q', 104, stride, at, len(attrs), data_at, len(data),
                                         0, 0) + struct.pack('>4Q', *words)
        return head + ids + attrs + data + table + sections


if __name__ == '__main__':
    with open(sys.argv[2], 'wb') as result:
        result.write(Converter(sys.argv[1]).file())
