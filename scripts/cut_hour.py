#!/usr/bin/env python3
"""cut_hour.py PERF.DATA TID MARKS OUT N - of a recording of an hour every N-th mark, see record_hour.sh.

Keeps of perf.data the header, the features that name clock, host and formats, and of the records the calls
of thread TID that are marks; of MARKS the lines that belong to them. Both go to folder OUT.
"""
import gzip
import mmap
import os
import struct
import sys

SAMPLE, HEADER_SIZE = 9, 104
TRACING_DATA, HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, EVENT_DESC, SAMPLE_TIME = 1, 3, 4, 5, 6, 7, 12, 21
KEPT = {TRACING_DATA, HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, EVENT_DESC, SAMPLE_TIME}


def tracepoints(data):
    """What the kernel calls the tracepoints, in the order of the attributes."""
    entry_size, at, size = struct.unpack_from('<QQQ', data, 16)
    entries = [struct.unpack_from('<I4xQ', data, at + i * entry_size) for i in range(size // entry_size)]
    return [config for kind, config in entries if kind == 2]


def calls_of(data, begin, end, tid, number):
    """The samples of a tracepoint and thread: id, ip, pid, tid, time, cpu, period, and the raw bytes."""
    at = begin
    while at + 8 <= end:
        kind, _, size = struct.unpack_from('<IHH', data, at)
        if kind == SAMPLE and size >= 64 and struct.unpack_from('<i', data, at + 28)[0] == tid and \
                struct.unpack_from('<H', data, at + 60)[0] == number:
            yield struct.unpack_from('<Q', data, at + 32)[0], data[at:at + size]
        at += max(size, 8)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    path, tid, marks_path, out, step = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
    with open(path, 'rb') as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin, size = struct.unpack_from('<QQ', data, 40)
    # begins and ends of the call come first of the tracepoints
    begins, ends = (sorted(calls_of(data, begin, begin + size, tid, number)) for number in tracepoints(data)[:2])
    if begins and ends and ends[0] < begins[0]:
        ends.pop(0)
    pairs = [(enter, leave) for (_, enter), (_, leave) in zip(begins, ends)]
    with open(marks_path, encoding='ascii') as file:
        marks = file.read().splitlines()
    print(f'{len(pairs)} calls, {len(marks)} marks')
    kept = pairs[::step]
    bits = struct.unpack_from('<4Q', data, 72)
    table_at = begin + size
    features = [64 * i + b for i in range(4) for b in range(64) if bits[i] >> b & 1]
    sections = {bit: struct.unpack_from('<QQ', data, table_at + 16 * i) for i, bit in enumerate(features)}
    head = bytearray(data[:begin])
    body = b''.join(enter + leave for enter, leave in kept)
    features = [bit for bit in features if bit in KEPT]
    struct.pack_into('<Q', head, 48, len(body))
    struct.pack_into('<4Q', head, 72, *(sum(1 << bit - 64 * i for bit in features if bit // 64 == i) for i in range(4)))
    at, table, tail = len(head) + len(body) + 16 * len(features), b'', b''
    for bit in features:
        offset, length = sections[bit]
        table += struct.pack('<QQ', at + len(tail), length)
        tail += data[offset:offset + length]
    with open(os.path.join(out, 'perf.data.gz'), 'wb') as file, gzip.GzipFile('', 'wb', 9, file, mtime=0) as target:
        target.write(bytes(head) + body + table + tail)
    with open(os.path.join(out, 'marks'), 'w', encoding='ascii') as file:
        # it began to mark before it was recorded, and went on to the same end
        file.writelines(line + '\n' for line in marks[-len(pairs):][::step])


if __name__ == '__main__':
    main()
