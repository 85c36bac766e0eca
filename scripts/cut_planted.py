#!/usr/bin/env python3
"""cut_planted.py FOLDER OUT - a small copy of a case of record_planted.sh or record_torch.sh, for testdata.

Keeps of perf.data what the job, the other processes of the cause, and the kernel's memory threads did, who
they were switched with, and who woke them; of other processes nothing but their numbers. Keeps the names of the kernel's addresses in OUT/buildid
(run it on the machine that recorded, before it boots again), the job's trace, its log, the clocks, and
what counters the analyses read. Needs perf.
"""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import perf_decode as pd
import perf_expect

# threads of the kernel's memory management, and what trainload's other processes are called
KEPT_NAMES = re.compile(r'(khugepaged|kcompactd\d+|kswapd\d+|backupd|ckpt-writer|shard-reader|dataloader)$')
MARKER = 'tl~'  # of the clocks, in the name of a process
COUNTERS = re.compile(r'@|/proc/vmstat:(thp_|compact_|allocstall|pgscan_|pgsteal_|pgmigrate|nr_free_pages )'
                      r'|/proc/pressure|/sys/kernel/mm/transparent_hugepage|/proc/sys/vm')
KEPT_BINARIES = re.compile(r'\[|//|/srv/|/usr/lib/x86_64-linux-gnu/|/lib/')
COMM_SIZE = 16
MMAP, COMM, EXIT, FORK, SAMPLE, MMAP2, NAMESPACES, KSYMBOL, BPF_EVENT, CGROUP = 1, 3, 4, 7, 9, 10, 16, 17, 18, 19


class Cut:
    def __init__(self, perf, pids):
        self.perf, self.formats = perf, perf.formats()
        self.ours = set(pids)
        for r in perf.records:
            if r.type == COMM and KEPT_NAMES.match(pd.text(r.body[8:])):
                self.ours.add(struct.unpack_from('<i', r.body)[0])
            elif r.type == FORK:
                pid, parent = struct.unpack_from('<ii', r.body)
                if parent in self.ours:
                    self.ours.add(pid)
        self.tids = set(self.ours)
        for r in perf.records:
            if r.type == FORK:
                pid, _, tid = struct.unpack_from('<iii', r.body)
                if pid in self.ours:
                    self.tids.add(tid)

    def keeps(self, r):
        if r.type in (MMAP, MMAP2):
            return struct.unpack_from('<i', r.body)[0] in self.ours | {-1}
        if r.type == COMM:
            return struct.unpack_from('<i', r.body)[0] in self.ours or pd.text(r.body[8:]).startswith(MARKER)
        if r.type in (FORK, EXIT, NAMESPACES):
            return struct.unpack_from('<i', r.body)[0] in self.ours
        return r.type not in (KSYMBOL, BPF_EVENT, CGROUP)

    def sample(self, r):
        """The record's body without the names of others, or None."""
        s = self.perf.sample(r)
        is_ours, body = s['task'][0] in self.ours, bytearray(r.body)
        _, fields = self.formats.get(s['attr'].config, ('', {})) if s['attr'].type == 2 else ('', {})
        raw_at = s['end'] - len(s.get('raw', b'')) if 'raw' in s else 0
        for pid_name in 'prev_pid', 'next_pid', 'pid':
            comm = pid_name.replace('pid', 'comm')
            if pid_name not in fields or comm not in fields:
                continue
            pid, = struct.unpack_from('<i', s['raw'], fields[pid_name][0])
            is_ours |= pid in self.tids
            if pid and pid not in self.tids:
                at = raw_at + fields[comm][0]
                body[at:at + COMM_SIZE] = b'other'.ljust(COMM_SIZE, b'\0')
        return bytes(body) if is_ours else None

    def records(self):
        for r in self.perf.records:
            body = self.sample(r) if r.type == SAMPLE else r.body if self.keeps(r) else None
            if body is not None:
                yield struct.pack('<IHH', r.type, r.misc, 8 + len(body)) + body


def kept_build_ids(section):
    out, at = b'', 0
    while at < len(section):
        size, = struct.unpack_from('<H', section, at + 6)
        if KEPT_BINARIES.match(pd.text(section[at + 36:at + size])):
            out += section[at:at + size]
        at += size
    return out


def cut_perf(path, out, pids):
    perf = pd.Perf(path)
    if perf.is_pipe or perf.e != '<' or perf.header_size != 104:
        sys.exit(f'{path}: no little-endian perf.data in file mode')
    head = bytearray(perf.data[:perf.data_begin])
    data = b''.join(Cut(perf, pids).records())
    struct.pack_into('<Q', head, 48, len(data))
    table, sections, at = b'', b'', len(head) + len(data) + 16 * len(perf.feature_bits)
    for bit in perf.feature_bits:
        section = perf.features[bit]
        if bit == pd.F_BUILD_ID:
            section = kept_build_ids(section)
        table += struct.pack('<QQ', at + len(sections), len(section))
        sections += section
    with open(out, 'wb') as file:
        file.write(head + data + table + sections)


def keep_kernel_symbols(path, out):
    """The names of the kernel's addresses, laid out as perf's own cache."""
    reading = perf_expect.Reading(path)
    kernel = {ip for sample in perf_expect.perf_script(path, reading.perf.attrs)
              for ip, symbol, dso in sample.frames if symbol and dso == '[kernel.kallsyms]'}
    folder = f'{out}/[kernel.kallsyms]/' + perf_expect.build_ids(reading.perf)['[kernel.kallsyms]']
    os.makedirs(folder)
    with open(folder + '/kallsyms', 'w', encoding='ascii') as file:
        file.writelines(perf_expect.kernel_symbols(kernel))


def compress(path, out):
    with open(path, 'rb') as source, open(out, 'wb') as target, \
            gzip.GzipFile('', 'wb', 9, target, mtime=0) as file:
        shutil.copyfileobj(source, file)


def cut_manifest(folder, out):
    with open(folder + '/manifest.json', encoding='utf-8') as file:
        manifest = json.load(file)
    files = []
    for entry in manifest['files']:
        path = entry['path']
        if entry['role'] in ('clocks', 'process-maps', 'process-status'):
            os.makedirs(os.path.dirname(f'{out}/{path}'), exist_ok=True)
            shutil.copyfile(f'{folder}/{path}', f'{out}/{path}')
        elif entry['role'] == 'system':
            with open(f'{folder}/{path}', encoding='utf-8') as source, open(f'{out}/{path}', 'w',
                                                                            encoding='utf-8') as target:
                target.writelines(line for line in source if COUNTERS.match(line))
        elif entry['role'] in ('perf', 'strace') or path.endswith('.json'):
            entry['path'] += '.gz'
            compress(f'{out}/{path}' if entry['role'] == 'perf' else f'{folder}/{path}', f'{out}/{path}.gz')
        elif entry['role'] == 'added':
            shutil.copyfile(f'{folder}/{path}', f'{out}/{path}')
        else:
            continue
        files.append(entry)
    manifest['files'] = files
    with open(out + '/manifest.json', 'w', encoding='utf-8') as file:
        json.dump(manifest, file, indent='\t')
        file.write('\n')


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out + '/case')
    perf = out + '/case/perf.data'
    with open(folder + '/case/manifest.json', encoding='utf-8') as file:
        pids = json.load(file)['pids']
    cut_perf(folder + '/case/perf.data', perf, pids)
    keep_kernel_symbols(perf, out + '/buildid')
    cut_manifest(folder + '/case', out + '/case')
    os.remove(perf)
    for name in 'job/truth.json', 'job/proof.csv', 'verdict.txt':
        if os.path.exists(f'{folder}/{name}'):
            os.makedirs(os.path.dirname(f'{out}/{name}'), exist_ok=True)
            shutil.copyfile(f'{folder}/{name}', f'{out}/{name}')
    subprocess.run(['find', out, '-type', 'f', '-exec', 'chmod', '644', '{}', '+'], check=True)
    subprocess.run(['find', out, '-type', 'd', '-exec', 'chmod', '755', '{}', '+'], check=True)


if __name__ == '__main__':
    main()
