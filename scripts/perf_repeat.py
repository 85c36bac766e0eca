#!/usr/bin/env python3
"""perf_repeat.py - a perf.data with the samples of another one, repeated with shifted times.

    perf_repeat.py IN OUT SAMPLES

For measuring how cost grows with size. Knows just enough of the format: file mode, little-endian,
samples with a time at a fixed place. Records other than samples are kept once, EXIT records left
out, so that every repetition finds its threads alive.
"""
import struct
import sys

HEADER_SIZE = 104
SAMPLE, EXIT, FINISHED_ROUND = 9, 4, 68
IP, TID, TIME, IDENTIFIER = 1, 2, 4, 1 << 16


def time_place(attr_bytes, entry_size):
    """Offset of the time in a sample record; the same for every event of the file."""
    places = set()
    for start in range(0, len(attr_bytes), entry_size):
        sample_type, = struct.unpack_from('<Q', attr_bytes, start + 24)
        if not sample_type & TIME:
            sys.exit('perf_repeat.py: samples without a time')
        places.add(8 + 8 * sum(1 for bit in (IDENTIFIER, IP, TID) if sample_type & bit))
    if len(places) != 1:
        sys.exit('perf_repeat.py: the events of this file differ in where their time is')
    return places.pop()


def split(data, place):
    """The records that are kept once, the samples, and the places of their times."""
    once, samples, places = bytearray(), bytearray(), []
    at = 0
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from('<IHH', data, at)
        if size < 8:
            sys.exit(f'perf_repeat.py: record of size {size} at {at}')
        if kind == SAMPLE:
            places.append(len(samples) + place)
            samples += data[at:at + size]
        elif kind not in (EXIT, FINISHED_ROUND):
            once += data[at:at + size]
        at += size
    return bytes(once), samples, places


def features(content, table, bitmap):
    """(offset, bytes) of the sections behind the data, in the order of the table."""
    count = bin(int.from_bytes(bitmap, 'little')).count('1')
    for i in range(count):
        offset, size = struct.unpack_from('<QQ', content, table + 16 * i)
        yield content[offset:offset + size]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[1], 'rb') as file:
        content = file.read()
    wanted = int(sys.argv[3])
    magic, header_size, attr_size, attrs_offset, attrs_size, data_offset, data_size = \
        struct.unpack_from('<8sQQQQQQ', content)
    if magic != b'PERFILE2' or header_size != HEADER_SIZE:
        sys.exit('perf_repeat.py: no little-endian perf.data in file mode')
    place = time_place(content[attrs_offset:attrs_offset + attrs_size], attr_size)
    once, samples, places = split(content[data_offset:data_offset + data_size], place)
    times = [struct.unpack_from('<Q', samples, p)[0] for p in places]
    span = max(times) - min(times) + 1000
    finished = struct.pack('<IHH', FINISHED_ROUND, 0, 8)

    with open(sys.argv[2], 'wb') as out:
        out.write(content[:data_offset])
        out.write(once)
        written, shift = 0, 0
        while written < wanted:
            piece = samples
            count = len(places)
            if wanted - written < count:
                count = wanted - written
                end = places[count] - place if count < len(places) else len(samples)
                piece = samples[:end]
            for p, time in zip(places[:count], times):
                struct.pack_into('<Q', piece, p, time + shift)
            out.write(piece)
            out.write(finished)
            written += count
            shift += span
        end = out.tell()
        sections = list(features(content, data_offset + data_size, content[72:104]))
        at = end + 16 * len(sections)
        for section in sections:
            out.write(struct.pack('<QQ', at, len(section)))
            at += len(section)
        for section in sections:
            out.write(section)
        out.seek(48)
        out.write(struct.pack('<Q', end - data_offset))


main()
