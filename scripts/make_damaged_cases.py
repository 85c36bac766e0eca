#!/usr/bin/env python3
"""make_damaged_cases.py - writes the perf.data files of testdata/damaged that start whole.

    make_damaged_cases.py [CASE...]

Each is a small good file with one thing wrong. What the program must say of it (`stderr`, `status`)
is not made here: it is written by hand, after a look at how.txt.
"""
import gzip
import os
import struct
import sys

from perf_write import (CHAIN, CPU, FLAGS, IDENTIFIER, RAW, READ, REGS_USER, STACK_USER, USER,
                        USUAL, Event, File, compressed, feature_text, padded, some_samples, u)

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, 'testdata', 'damaged')
CASES = {}


def case(function):
    CASES[f'perf-{function.__name__}'.replace('_', '-')] = function
    return function


def good(*events, n=4):
    f = File(*(events or [Event()]))
    f.program()
    some_samples(f, n)
    return f


def put(data, at, raw):
    return data[:at] + raw + data[at + len(raw):]


@case
def empty():
    return 'no bytes at all', b''


@case
def magic_only():
    return 'the magic and nothing else', b'PERFILE2'


@case
def header_cut():
    return 'a header of which 50 of 104 bytes are there', good().file()[:50]


@case
def header_size_odd():
    return 'a header size that is none of 16, 72, 104 or more', put(good().file(), 8, u('Q', 17))


@case
def no_attributes():
    return 'an attribute table of size 0', put(good().file(), 32, u('Q', 0))


@case
def attribute_size_0():
    return 'attributes of size 0', put(good().file(), 16, u('Q', 0))


@case
def attributes_behind_the_end():
    return 'the attribute table lies behind the end of the file', put(good().file(), 24, u('Q', 1 << 40))


@case
def ids_behind_the_end():
    f = good(Event(USUAL | IDENTIFIER, ids=[1]), Event(USUAL | IDENTIFIER | CPU, ids=[2], config=1))
    data = f.file()
    at, = struct.unpack_from('<Q', data, 24)
    return 'the ids of the second event lie behind the end of the file', \
        put(data, at + 2 * 144 - 16, u('QQ', 1 << 50, 64))


@case
def different_events_without_ids():
    f = good(Event(USUAL), Event(USUAL | CPU, config=1))
    return 'two events with different sample_type and no id in the samples: nobody can tell', f.file()


@case
def pipe_size_0():
    f = good()
    return 'pipe mode: a record of size 0 after four samples', f.pipe() + b'\0' * 64


@case
def pipe_trailing_text():
    f = good()
    return 'pipe mode: what perf said on the terminal follows the records', \
        f.pipe() + b'[ perf record: Woken up 1 times to write data ]\n' \
                   b'[ perf record: Captured and wrote 0.010 MB - ]\n'


@case
def pipe_without_attributes():
    return 'pipe mode: samples, but no HEADER_ATTR', good().pipe(with_attrs=False)


@case
def pipe_attribute_cut():
    f = good()
    return 'pipe mode: HEADER_ATTR says 128 bytes and has 40', \
        b'PERFILE2' + u('Q', 16) + u('IHH', 64, 0, 48) + f.events[0].raw[:40] + f.body


@case
def chain_huge():
    f = good()
    f.sample([USER, 0x400100], fields={CHAIN: u('QQQ', 1 << 61, USER, 0x400100)})
    some_samples(f, 2)
    return 'a call chain of 2^61 entries', f.file()


@case
def chain_longer_than_record():
    f = good()
    f.sample([USER, 0x400100], fields={CHAIN: u('QQQ', 3, USER, 0x400100)})
    some_samples(f, 2)
    return 'a call chain of 3 entries of which 2 are there', f.file()


@case
def raw_huge():
    f = good(Event(USUAL | RAW), n=0)
    f.sample([USER, 0x400100], fields={RAW: u('I', 4) + b'good'})
    f.sample([USER, 0x400100], fields={RAW: u('I', 0xfffffff0) + b'evil'})
    f.sample([USER, 0x400100], fields={RAW: u('I', 4) + b'good'})
    return 'a RAW field of 4 GB', f.file()


@case
def group_huge():
    f = good(Event(USUAL | READ | IDENTIFIER, ids=[5], read_format=12), n=0)
    for n in (1, 1 << 60, 1):
        f.sample([USER, 0x400100], fields={READ: u('QQQ', n, 100, 5)})
    return 'a group read of 2^60 values', f.file()


@case
def stack_huge():
    f = good(Event(USUAL | REGS_USER | STACK_USER, regs_user=0x180), n=0)
    for n in (16, 1 << 62, 16):
        f.sample([USER], ip=0x400100, fields={
            REGS_USER: u('QQQ', 2, 0x7ffe0000, 0x400100),
            STACK_USER: u('Q', n) + b'S' * 16 + u('Q', 16)})
    return 'a user stack of 2^62 bytes', f.file()


@case
def registers_cut():
    f = good(Event(USUAL | REGS_USER, regs_user=(1 << 24) - 1), n=0)
    f.sample([USER, 0x400100], fields={REGS_USER: u('Q', 2) + b'R' * 100})
    return '24 registers of which twelve and a half are there', f.file()


@case
def path_without_end():
    f = good(n=2)
    body = u('iiQQQ', 100, 100, 0x500000, 4096, 0) + u('IIQQII', 8, 1, 2, 3, 5, 2) + b'/srv/without-end' + \
        u('iiQ', 100, 100, f.tick(None))
    f.body += u('IHH', 10, 2, 8 + len(body)) + body
    some_samples(f, 2)
    return 'MMAP2 whose path has no NUL', f.file()


@case
def comm_cut():
    f = good(n=2)
    f.body += u('IHH', 3, 0, 12) + b'abcd'
    some_samples(f, 2)
    return 'COMM of 12 bytes', f.file()


@case
def trailer_missing():
    f = good(n=2)
    f.body += u('IHH', 4, 0, 8)
    some_samples(f, 2)
    return 'EXIT of 8 bytes', f.file()


@case
def event_names_huge():
    f = good()
    f.names()
    f.features[12] = u('II', 0xffffffff, 128) + f.features[12][8:]
    return 'EVENT_DESC of 4294967295 events', f.file()


@case
def event_names_size_0():
    f = good()
    f.names()
    f.features[12] = u('II', 1, 0) + f.features[12][8:]
    return 'EVENT_DESC with attributes of size 0', f.file()


@case
def build_id_size_0():
    f = good()
    f.features[2] = u('IHHi', 67, 2, 0, -1) + b'\x11' * 24 + padded('/srv/prog')
    return 'BUILD_ID with an entry of size 0', f.file()


@case
def build_id_without_path():
    f = good()
    f.features[2] = u('IHHi', 67, 2, 36, -1) + b'\x11' * 20
    return 'BUILD_ID with an entry that ends before the path', f.file()


@case
def hostname_huge():
    f = good()
    f.features[3] = u('I', 0x7fffffff) + b'name\0'
    return 'HOSTNAME of 2 GB', f.file()


@case
def clock_cut():
    f = good()
    f.features[29] = u('II', 1, 1)
    return 'CLOCK_DATA of 8 bytes', f.file()


@case
def clock_version():
    f = good()
    f.features[29] = u('IIQQ', 7, 1, 10**18, 10**9)
    return 'CLOCK_DATA of version 7', f.file()


@case
def tracing_data_cut():
    f = good(Event(USUAL | RAW, kind=2, config=99), n=0)
    f.sample([USER, 0x400100], fields={RAW: u('I', 12) + u('HHiI', 99, 0, 5, 7)})
    f.features[1] = b'\x17\x08\x44tracing' + b'0.6\0' + u('BBI', 0, 8, 4096) + b'header_page\0' + \
        u('Q', 1 << 40) + b'field: u64'
    return 'tracing data that ends inside its first part', f.file()


@case
def auxtrace_huge():
    f = good(n=2)
    f.body += u('IHH', 71, 0, 48) + u('QQQIIII', 1 << 63, 0, 0, 0, 100, 0, 0) + b'payload '
    some_samples(f, 2)
    return 'AUXTRACE with a payload of 2^63 bytes', f.file()


def zstd_file(change, kind=83):
    f = good(n=0)
    head, f.body = f.body, b''
    some_samples(f, 40)
    f.body = head + change(compressed(f.body, (700, 1400), kind))
    f.features[27] = u('IIIII', 1, 1, 3, 4, 1 << 16)
    return f


@case
def zstd_cut():
    data = zstd_file(lambda z: z).pipe()
    return 'the file ends inside a COMPRESSED2 record', data[:-60]


@case
def zstd_garbage():
    def change(z):
        at = len(z) // 2
        return put(z, at, bytes(b ^ 0xff for b in z[at:at + 40]))
    return 'forty bytes of the zstd stream are wrong', zstd_file(change).file()


@case
def zstd_length():
    return 'COMPRESSED2 whose data are longer than itself', \
        zstd_file(lambda z: put(z, 8, u('Q', 1 << 33))).file()


@case
def zstd_inner_size_0():
    f = good(n=2)
    f.body += compressed(b'\0' * 64, ())
    some_samples(f, 2)
    return 'a record of size 0 inside the zstd stream', f.file()


@case
def gzip_cut():
    f = good(n=200)
    return 'a gzip file that ends early', gzip.compress(f.file(), mtime=0)[:-300]


@case
def other_file():
    return 'no recording at all', b'\x7fELF' + bytes(range(256))


@case
def flags_of_the_future():
    f = good(Event(flags=FLAGS | 0x3fffff << 42))
    return 'attribute flags that nobody knows', f.file()


@case
def sample_type_of_the_future():
    f = good(Event(USUAL | 1 << 40), n=0)
    f.sample([USER, 0x400100])
    f.body += b''
    return 'a sample_type bit that nobody knows: where its field lies is unknown', f.file()


@case
def read_format_of_the_future():
    f = good(Event(USUAL | READ | IDENTIFIER, ids=[5], read_format=4 | 1 << 9), n=0)
    f.sample([USER, 0x400100], fields={READ: u('QQ', 100, 5)})
    return 'a read_format bit that nobody knows: where its value lies is unknown', f.file()


@case
def attribute_table_odd():
    data = good().file()
    size, = struct.unpack_from('<Q', data, 32)
    return 'an attribute table that ends 40 bytes into its second attribute', put(data, 32, u('Q', size + 40))


@case
def pipe_attribute_ids_cut():
    f = good()
    attr = f.events[0].raw
    return 'pipe mode: HEADER_ATTR ends inside its first id', \
        b'PERFILE2' + u('Q', 16) + u('IHH', 64, 0, 8 + len(attr) + 4) + attr + u('I', 7) + f.body


@case
def sample_longer_than_its_fields():
    f = good(n=2)
    at = len(f.body)
    some_samples(f, 1)
    last = f.body[at:]
    size, = struct.unpack_from('<H', last, 6)
    f.body = f.body[:at] + put(last, 6, u('H', size + 16)) + b'unknown 16 bytes'
    some_samples(f, 1)
    return 'a sample with 16 bytes that no bit of sample_type explains', f.file()


@case
def mmap_build_id_size_40():
    f = good(n=2)
    body = u('iiQQQ', 100, 100, 0x500000, 4096, 0) + u('BBBB', 40, 0, 0, 0) + b'B' * 20 + u('II', 5, 2) + \
        padded('/srv/long-id') + u('iiQ', 100, 100, f.tick(None))
    f.body += u('IHH', 10, 2 | 1 << 14, 8 + len(body)) + body
    some_samples(f, 2)
    return 'MMAP2 with a build-id of 40 bytes', f.file()


@case
def feature_unknown():
    f = good()
    f.features[200] = b'a feature of the future'
    return 'a feature that nobody knows', f.file()


@case
def control_bytes():
    f = good(n=2)
    f.body += u('IHH', 0x6f6f6f, 0, 16) + b'\x1b]0;evil\a'[:8]
    f.features[3] = feature_text('\x1b[31mred\x1b[0m')
    return 'a host name that would colour a terminal, and an unknown record', f.file()


def write(name):
    what, data = CASES[name]()
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'perf.data'), 'wb') as out:
        out.write(data)
    with open(os.path.join(folder, 'how.txt'), 'w', encoding='utf-8') as out:
        out.write(f'shows: {what}\ncommand: scripts/make_damaged_cases.py {name}\n')
    with open(os.path.join(folder, 'args'), 'w', encoding='utf-8') as out:
        out.write('import -o $TMP/case.db perf.data\nimport --strict -o $TMP/strict.db perf.data\n')


def main():
    for name in sys.argv[1:] or CASES:
        write(name)


if __name__ == '__main__':
    main()
