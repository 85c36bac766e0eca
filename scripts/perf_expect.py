#!/usr/bin/env python3
"""perf_expect.py - what a correct reader must find in a test recording.

    perf_expect.py facts RECORDING                    key=value lines
    perf_expect.py fold RECORDING [--event NAME] [--count] [--symbols [--inline]]
                                                      folded stacks, sorted by bytes
    perf_expect.py names RECORDING                    commands and paths it mentions, one a line
    perf_expect.py cache RECORDING DIR                build-id cache of what its samples hit
    perf_expect.py check RECORDING                    compare own reading with perf script's

Facts and unnamed folds come from perf_decode.py, a second reader; names come from `perf script`.
`check` holds the two against each other sample by sample; record_testdata.sh runs it on every
recording that perf can read.
"""
import argparse
import bisect
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter, defaultdict

import perf_decode as pd

CLOCKS = {0: 'realtime', 1: 'monotonic', 4: 'monotonic_raw', 7: 'boottime', 11: 'tai'}
USER_MARK, KERNEL_MARK = (1 << 64) - 512, (1 << 64) - 128
DEFERRED_MARK = (1 << 64) - 640
KNOWN_MARKS = {(1 << 64) - n for n in (32, 128, 512, 640, 2048, 2176, 2560)}
HEADER = re.compile(r'^(.*?) +(-?\d+)/(-?\d+) +(?:(\d+)\.(\d{9}): +)?(?:(\d+) +)?(\S.*?):'
                    r'(?: +([0-9a-f]+ .*))? *$', re.S)
FRAME = re.compile(r'^\s*([0-9a-f]+) (.*) \((.*?)\)$')
FRAME_DELETED = re.compile(r'^\s*([0-9a-f]+) (.*) \((.* \(deleted\))\)$')


# ---- own reading ---------------------------------------------------------------------------------

class Sample:
    def __init__(self, time, pid, tid, event, period, comm, frames):
        self.time, self.pid, self.tid, self.event, self.period, self.comm, self.frames = \
            time, pid, tid, event, period, comm, frames  # frames: innermost first, (ip, sym, dso)


class Process:
    def __init__(self, maps=()):
        self.maps = list(maps)
        self.is_leaving = False  # execve was seen, no map of the new program yet

    def add(self, start, size, path):
        """The newest map wins where maps overlap."""
        if self.is_leaving:
            self.maps, self.is_leaving = [], False
        end, kept = start + size, []
        for s, e, p in self.maps:
            if e <= start or s >= end:
                kept.append((s, e, p))
                continue
            if s < start:
                kept.append((s, start, p))
            if e > end:
                kept.append((end, e, p))
        self.maps = kept + [(start, end, path)]

    def find(self, ip):
        for s, e, p in self.maps:
            if s <= ip < e:
                return p
        return None


def path_of_map(path, pid):
    if path in ('//anon', '/dev/zero', '/anon_hugepage') or path.startswith('[anon:') or not path:
        return f'/tmp/perf-{pid}.map'
    return path


class Reading:
    """Samples in time order, each with the command name and the maps of its moment."""

    def __init__(self, path):
        self.perf = p = pd.Perf(path)
        self.samples, self.comm, self.process, self.ksymbols = [], {0: 'swapper'}, {}, {}
        self.deferred, self.has_kernel = {}, False
        self.last_value = {}
        timed = []
        for n, r in enumerate(p.records):
            if r.type == 9:
                s = p.sample(r)
                timed.append((s.get('time', 0), n, r, s))
            elif r.type < 64:
                t, body = p.trailer(r)
                if r.type == 22:
                    cookie, count = struct.unpack_from(p.e + 'QQ', body)
                    chain = struct.unpack_from(f'{p.e}{count}Q', body, 16)
                    self.deferred.setdefault((t['task'][1], cookie), []).append((t['time'], chain))
                time = t.get('time', 0)
                timed.append((0 if time == (1 << 64) - 1 else time, n, r, body))
        has_time = all(a.sample_type & pd.TIME for a in p.attrs) and p.attrs and \
            p.attrs[0].sample_id_all
        if has_time:
            timed.sort(key=lambda x: x[:2])
        for _, _, r, what in timed:
            if r.type == 9:
                self.sample(r, what)
            else:
                self.sideband(r, what)

    def sideband(self, r, b):
        p, e = self.perf, self.perf.e
        if r.type in (1, 10):
            pid, _, start, size, _ = struct.unpack_from(e + 'iiQQQ', b)
            path = pd.text(b[32:] if r.type == 1 else b[64:])
            is_exec = not r.misc & 1 << 13
            if pid == -1 or r.misc & 7 == 1:
                self.has_kernel = True
                return
            if is_exec:
                self.process.setdefault(pid, Process()).add(start, size, path_of_map(path, pid))
        elif r.type == 3:
            pid, tid = struct.unpack_from(e + 'ii', b)
            self.comm[tid] = pd.text(b[8:])
            if r.misc & 1 << 13:
                # until then its frames are those of execve's caller
                self.process.setdefault(pid, Process()).is_leaving = True
        elif r.type == 7:
            pid, ppid, tid, ptid = struct.unpack_from(e + 'iiii', b)
            if ptid in self.comm:
                self.comm[tid] = self.comm[ptid]
            else:
                self.comm.pop(tid, None)
            if pid != ppid:
                old = self.process.get(ppid)
                self.process[pid] = Process(old.maps if old else ())
        elif r.type == 17:
            address, size = struct.unpack_from(e + 'QI', b)
            name, gone = pd.text(b[16:]), struct.unpack_from(e + 'H', b, 14)[0] & 1
            if gone:
                self.ksymbols.pop(address, None)
            else:
                self.ksymbols[address] = (size, name)

    def frames(self, r, s):
        """(ip, symbol or None, dso), innermost first."""
        pid = s.get('task', (-1, -1))[0]
        chain, out = s.get('chain'), []
        context = {1: KERNEL_MARK, 2: USER_MARK}.get(r.misc & 7)
        if not chain or all(ip >= pd.MARK for ip in chain):
            chain = [s['ip']] if 'ip' in s and chain is None else chain or []
        at = 0
        while at < len(chain):
            ip = chain[at]
            at += 1
            if ip == DEFERRED_MARK:
                cookie = chain[at] if at < len(chain) else None
                at += 1
                later = [c for t, c in self.deferred.get((s['task'][1], cookie), ())
                         if t >= s['time']]
                if later:
                    chain = list(chain[:at]) + list(later[0])
                context = USER_MARK
            elif ip >= pd.MARK:
                context = ip
            elif context == KERNEL_MARK:
                dso = '[kernel.kallsyms]' if self.has_kernel else '[unknown]'
                for address, (size, name) in self.ksymbols.items():
                    if address <= ip < address + size and name.startswith('bpf_prog_'):
                        dso = name
                out.append((ip, None, dso))
            else:
                process = self.process.get(pid)
                out.append((ip, None, (process.find(ip) if process else None) or '[unknown]'))
        return out

    def sample(self, r, s):
        pid, tid = s.get('task', (-1, -1))
        comm = self.comm.get(tid, f':{tid}')
        frames = self.frames(r, s)
        members = [(s['attr'], s['period'])]
        if 'read' in s and s['attr'].read_format & pd.R_ID:
            members = []
            for ident, value in s['read']:
                delta = value - self.last_value.get(ident, 0)
                self.last_value[ident] = value
                if delta:
                    members.append((self.perf.by_id[ident], delta))
        for attr, period in members:
            one = Sample(s.get('time'), pid, tid, attr.name, period, comm, frames)
            one.fields = s
            self.samples.append(one)


# ---- perf script's reading -----------------------------------------------------------------------

def perf_script(path, attrs, inline=False):
    fields = 'comm,pid,tid,time,period,event,ip,sym,dso'
    if not all(a.sample_type & pd.TIME for a in attrs):
        fields = fields.replace(',time', '')
    command = ['perf', 'script', '-i', path, '-F', fields, '--ns'] + \
        ([] if inline else ['--no-inline'])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return read_script(done.stdout)


def frame_of(line):
    m = (FRAME_DELETED if line.endswith(' (deleted))') else FRAME).match(line)
    if not m:
        return None
    symbol = re.sub(r'\+0x[0-9a-f]+$', '', m.group(2))
    return int(m.group(1), 16), None if symbol == '[unknown]' else symbol, m.group(3)


def read_script(raw):
    out, cur, pending = [], None, ''
    for line in raw.decode('utf-8', 'surrogateescape').split('\n'):
        if line.startswith('#') and not pending and not re.search(r'\d+/\d+ +\d+\.\d+: ', line):
            continue
        if line == '' and not pending:
            cur = None
        elif line.startswith('\t') and cur is not None:
            f = frame_of(line)
            if f:
                cur.frames.append(f)
        else:
            m = HEADER.match(pending + line)
            if not m:
                pending += line + '\n'  # a newline inside a command name
                continue
            pending = ''
            comm, pid, tid, sec, ns, period, event, rest = m.groups()
            time = int(sec) * 10**9 + int(ns) if sec else None
            cur = Sample(time, int(pid), int(tid), event, int(period or 1), comm, [])
            cur.single = bool(rest)
            if rest and frame_of(rest):
                cur.frames.append(frame_of(rest))
            out.append(cur)
    return out


# ---- folding -------------------------------------------------------------------------------------

def safe_frame(name):
    name = name.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace').replace(';', ':')
    name = re.sub(r'[\x00-\x1f\x7f]', '?', name)
    return name or '[empty]'


def safe_comm(name):
    return safe_frame(re.sub(r'\s', '_', name))


def folded_frame(frame, named):
    _, symbol, dso = frame
    if dso == 'inlined':
        return safe_frame(symbol) + '_[i]'
    dso = dso.removesuffix(' (deleted)')
    if symbol is None or not named:
        base = dso[dso.rindex('/') + 1:] if '/' in dso and not dso.startswith('[') else dso
        symbol = f'[{base}]' if base != '[unknown]' else '[unknown]'
    return safe_frame(symbol)


def fold(samples, event, count, named):
    out = Counter()
    for s in samples:
        if s.event != event:
            continue
        line = [safe_comm(s.comm)] + [folded_frame(f, named) for f in reversed(s.frames)]
        line[-1] = re.sub(r'\s(?=\d+(\.\d*)?$)', '_', line[-1])
        out[';'.join(line)] += 1 if count else s.period
    return out


def fold_off_cpu(samples, formats, names):
    """Nanoseconds off the CPU by the stack that the thread left with; both ends must be seen."""
    out, left = Counter(), {}
    for s in samples:
        system_name, fields = formats.get(s.fields['attr'].config, ('', {}))
        if system_name != 'sched:sched_switch':
            continue
        prev, following = (int.from_bytes(s.fields['raw'][at:at + 4], sys.byteorder)
                           for at in (fields['prev_pid'][0], fields['next_pid'][0]))
        if following in left:
            line, time = left.pop(following)
            out[line] += s.time - time
        if prev and re.search(names or '', s.comm):
            frames = [folded_frame(f, True) for f in reversed(s.frames)]
            left[prev] = ';'.join([safe_comm(s.comm)] + frames), s.time
    return out


def first_event(reading):
    """The event of the first sample in time, as for whoever folds perf script's text."""
    hidden = {a.name for a in reading.perf.attrs if (a.type, a.config) == (1, 9)}
    return next((s.event for s in reading.samples if s.event not in hidden), None)


def compare(path, reading):
    """Differences between the two readings, as text."""
    theirs = perf_script(path, reading.perf.attrs)
    ours, out = reading.samples, []
    if len(ours) != len(theirs):
        return [f'{len(ours)} samples, perf script shows {len(theirs)}']
    for i, (a, b) in enumerate(zip(ours, theirs)):
        ours_tuple = (a.time, a.pid, a.tid, a.event, a.period)
        # perf script cannot know the period of an event that has none recorded
        their_tuple = (b.time, b.pid, b.tid, b.event, b.period)
        if ours_tuple != their_tuple:
            out.append(f'sample {i}: {ours_tuple} against {their_tuple}')
        if a.comm.rstrip() != b.comm.rstrip() and a.tid != -1 and not b.single:
            out.append(f'sample {i}: comm {a.comm!r} against {b.comm!r}')
        left, right = ([folded_frame(f, False) for f in x.frames] for x in (a, b))
        # perf drops a chain that holds garbage in the range of the context marks
        marks = {ip for ip in a.fields.get('chain', ()) if ip >= pd.MARK}
        is_garbage = not right and marks - {KERNEL_MARK, USER_MARK}
        if left != right and 'stack' not in a.fields and not is_garbage:
            out.append(f'sample {i}: {left} against {right}')
    return out


# ---- facts ---------------------------------------------------------------------------------------

def facts(reading):
    p, f = reading.perf, {}
    kinds = Counter(r.name for r in p.records)
    for name, n in sorted(kinds.items()):
        f[f'records.{name}'] = n
    hidden = {a.name for a in p.attrs if (a.type, a.config) == (1, 9)}
    shown = [s for s in reading.samples if s.event not in hidden]
    f['samples'] = len(shown)
    for event in sorted({s.event for s in shown}):
        mine = [s for s in shown if s.event == event]
        f[f'samples.{event}'] = len(mine)
        f[f'period.{event}'] = sum(s.period for s in mine)
    times = [s.time for s in shown if s.time is not None]
    f['samples_without_time'] = len(shown) - len(times)
    if times:
        f['first_sample_ts'], f['last_sample_ts'] = min(times), max(times)
    f['sample_tids'] = len({s.tid for s in shown if s.tid >= 0})
    cpus = {s.fields['cpu'] for s in shown if 'cpu' in s.fields}
    f['sample_cpus'] = ','.join(str(c) for c in sorted(cpus)) or 'none'
    if not any('stack' in s.fields for s in shown):  # those are unwound, by another program
        # a mark that nobody knows stays in the chain: it may be garbage
        f['max_depth'] = max((len(s.frames) + sum(ip >= pd.MARK and ip not in KNOWN_MARKS
                                                  for ip in s.fields.get('chain') or ())
                              for s in shown), default=0)
    for key in ('addr', 'phys', 'cgroup', 'weight', 'data_src', 'data_page', 'code_page'):
        values = [s.fields[key] for s in shown if key in s.fields]
        if values:
            f[f'samples_with_{key}'] = len(values)
            f[f'distinct_{key}'] = len(set(values))
    lost = lost_samples = 0
    for r in p.records:
        if r.type == 2:
            lost += struct.unpack_from(p.e + 'QQ', r.body)[1]
        elif r.type == 13:
            lost_samples += struct.unpack_from(p.e + 'Q', r.body)[0]
    f['lost'], f['lost_samples'] = lost, lost_samples
    f['comm_names'] = len({pd.text(p.trailer(r)[1][8:]) for r in p.records if r.type == 3})
    # perf since 6.1 reads at the end what each event lost: the same losses again. Without that,
    # LOST_SAMPLES are the hardware's, besides those of LOST.
    is_again = lost_samples and any(a.read_format & pd.R_LOST for a in p.attrs)
    f['lost_in_all'] = lost_samples + (0 if is_again else lost)
    payload_facts(reading, f)
    switch_facts(reading, f)
    header_facts(p, f)
    if p.damage:
        f['damage'] = p.damage
    return f


def payload_facts(reading, f):
    formats = reading.perf.formats()
    sums, states = defaultdict(int), Counter()
    for s in reading.samples:
        raw = s.fields.get('raw')
        if raw is None or s.fields['attr'].config not in formats:
            continue
        name, fields = formats[s.fields['attr'].config]
        for key, (offset, size, element, signed) in fields.items():
            if element == size and size in (1, 2, 4, 8) and not key.startswith('common_'):
                order = 'little' if reading.perf.e == '<' else 'big'
                v = int.from_bytes(raw[offset:offset + size], order, signed=signed)
                sums[f'{name}.{key}'] += v
                if key == 'prev_state':
                    states[v] += 1
    for key, v in sorted(sums.items()):
        if abs(v) < 1 << 62:
            f[f'sum.{key}'] = v
    for state, n in sorted(states.items()):
        f[f'prev_state.{state:#x}'] = n


def text_facts(found, unit):
    """What is left of the facts when the recording is turned into text."""
    out = {k: v for k, v in found.items()
           if k.split('.')[0] in ('samples', 'period', 'samples_without_time', 'sample_tids')}
    for key in ('first_sample_ts', 'last_sample_ts'):
        if key in found:
            out[key] = found[key] if unit == 'ns' else found[key] // 1000 * 1000
    return out


def switches(reading):
    """(time, is a SWITCH record, tid that leaves, tid that comes), None where it does not say."""
    p, formats, out = reading.perf, reading.perf.formats(), []
    for s in reading.samples:
        name, fields = formats.get(s.fields['attr'].config, ('', {}))
        if name == 'sched:sched_switch' and 'raw' in s.fields and not s.fields['attr'].freq:
            prev, following = (struct.unpack_from(p.e + 'i', s.fields['raw'], fields[k][0])[0]
                               for k in ('prev_pid', 'next_pid'))
            out.append((s.time, False, prev, following))
    for r in p.records:
        if r.type in (14, 15):
            t, body = p.trailer(r)
            tid, other = t['task'][1], struct.unpack_from(p.e + 'ii', body)[1] if body else None
            is_out = bool(r.misc & 1 << 13)
            out.append((t['time'], True, tid if is_out else other, other if is_out else tid))
    return sorted(out, key=lambda x: x[0])


def switch_facts(reading, f):
    """How long each thread was seen to be off and on a CPU, between switches that were both seen.

    A SWITCH record may tell of the same switch as a tracepoint a moment before: the first counts.
    """
    left, came = {}, {}
    sums, counts = Counter(), Counter()
    seen = switches(reading)
    for time, is_record, prev, following in seen:
        if prev and prev > 0 and not (is_record and prev in left):
            left[prev] = time
            if prev in came:
                sums['on', prev] += time - came.pop(prev)
                counts['on', prev] += 1
        if following and following > 0 and following not in came:
            came[following] = time
            if following in left:
                sums['off', following] += time - left.pop(following)
                counts['off', following] += 1
    # records are written some microseconds before or after the switch
    about = 'about.' if any(is_record for _, is_record, _, _ in seen) else ''
    for kind, tid in sorted(sums):
        f[f'{about}{kind}_cpu_ns.{tid}'] = sums[kind, tid]
        f[f'{kind}_cpu_count.{tid}'] = counts[kind, tid]


def header_facts(p, f):
    for bit, key in ((pd.F_HOSTNAME, 'hostname'), (pd.F_OSRELEASE, 'os_release'),
                     (pd.F_ARCH, 'arch'), (pd.F_VERSION, 'recorder_version')):
        v = p.string_feature(bit)
        if v is not None:
            f[key] = v
    d = p.features.get(pd.F_CLOCK_DATA)
    if d:
        _, clock, wall, mark = struct.unpack_from(p.e + 'IIQQ', d)
        if mark:  # perf stat writes an empty one
            f['clock'] = CLOCKS.get(clock, str(clock))
            f['clock_offset'] = wall - mark if clock else 0


# ---- what is kept beside a recording ---------------------------------------------------------------

def names(reading):
    """Every command, path and control group that the recording mentions."""
    p = reading.perf
    saved = p.features.get(pd.F_TRACING, b'').split(b'\0')[-1].split(b'\n')
    out = {line.split(b' ', 1)[1].decode() for line in saved if re.match(rb'\d+ .', line)}
    formats = p.formats()
    for r in p.records:
        _, b = p.trailer(r)
        if r.type in (1, 10):
            out.add(pd.text(b[32:] if r.type == 1 else b[64:]))
        elif r.type in (3, 19):
            out.add(pd.text(b[8:]))
    for s in reading.samples:
        raw = s.fields.get('raw', b'')
        _, fields = formats.get(s.fields['attr'].config, ('', {}))
        for key, (offset, size, element, _) in fields.items():
            if key.endswith('comm') and element == 1:
                out.add(pd.text(raw[offset:offset + size]))
            elif key.endswith('comm') and not element:
                at, = struct.unpack_from(p.e + 'H', raw, offset)
                out.add(pd.text(raw[at:]))
    return out


def build_ids(p):
    """path -> build-id, from the header feature and from the maps."""
    d, at, out = p.features.get(pd.F_BUILD_ID, b''), 0, {}
    while at < len(d):
        _, misc, size = struct.unpack_from(p.e + 'IHH', d, at)
        n = d[at + 32] if misc & 1 << 15 else 20
        out[pd.text(d[at + 36:at + size])] = d[at + 12:at + 12 + n].hex()
        at += size
    for r in p.records:
        if r.type == 10 and r.misc & 1 << 14:
            n, name = r.body[32], pd.text(p.trailer(r)[1][64:])
            # the kernel's map is called for the symbol that it begins with
            name = re.sub(r'^(\[kernel\.kallsyms\])_s?text$', r'\1', name)
            out[name] = r.body[36:36 + n].hex()
    return out


def kernel_symbols(ips):
    """The lines of /proc/kallsyms that name `ips`, and those that say where the names end."""
    lines = []
    for line in open('/proc/kallsyms', encoding='ascii'):
        if '[bpf]' not in line and not line.startswith('0' * 16):
            lines.append((int(line.split()[0], 16), line))
    lines.sort()
    addresses = sorted({a for a, _ in lines})
    wanted = set()
    for ip in ips:
        n = bisect.bisect_right(addresses, ip)
        wanted.update(addresses[max(n - 1, 0):n + 1])
    keep = ('_text\n', '_stext\n', '_etext\n')
    return [line for a, line in lines if a in wanted or line.split(' ', 2)[2] in keep]


def is_kept(dso):
    """Binaries that lie beside the recordings; those of a distribution are elsewhere others."""
    return not dso.startswith(('/usr/', '/lib'))


def make_cache(reading, path, top):
    ids = build_ids(reading.perf)
    hit, kernel = set(), set()
    for s in perf_script(path, reading.perf.attrs):
        for ip, symbol, dso in s.frames:
            if symbol and dso == '[kernel.kallsyms]':
                kernel.add(ip)
            elif symbol and is_kept(dso):
                hit.add(dso)
    for dso in sorted(hit | ({'[kernel.kallsyms]'} if kernel else set())):
        if dso not in ids:  # perf notes only the build-ids of what sampled addresses lie in
            if dso.startswith('/') and os.path.exists(dso):
                copy = os.path.join(os.path.dirname(top), 'symfs', dso.strip('/'))
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copyfile(dso, copy)
            continue
        ident = ids[dso]
        folder = os.path.join(top, dso.strip('/'), ident)
        os.makedirs(folder, exist_ok=True)
        if dso == '[kernel.kallsyms]':
            with open(os.path.join(folder, 'kallsyms'), 'w', encoding='ascii') as out:
                out.writelines(kernel_symbols(kernel))
        else:
            source = os.path.join(os.path.expanduser('~/.debug'), dso.strip('/'), ident, 'elf')
            shutil.copyfile(source if os.path.exists(source) else dso, os.path.join(folder, 'elf'))
        link = os.path.join(top, '.build-id', ident[:2], ident[2:])
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if not os.path.lexists(link):
            os.symlink(os.path.join('../..', dso.strip('/'), ident), link)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument('what', choices=('facts', 'fold', 'check', 'names', 'cache'))
    ap.add_argument('path')
    ap.add_argument('dir', nargs='?')
    ap.add_argument('--event')
    ap.add_argument('--count', action='store_true')
    ap.add_argument('--symbols', action='store_true', help='name frames, as perf script does')
    ap.add_argument('--all-names', action='store_true', help='also those of the distribution')
    ap.add_argument('--text', choices=('us', 'ns'), help='facts as perf script text can tell them')
    ap.add_argument('--offcpu', metavar='REGEX', help='fold time off the CPU of these threads')
    ap.add_argument('--inline', action='store_true')
    o = ap.parse_args()
    reading = Reading(o.path)
    samples, named = reading.samples, False
    event = o.event or first_event(reading)
    if o.what == 'facts':
        found = facts(reading)
        for k, v in (text_facts(found, o.text) if o.text else found).items():
            print(f'{k}={v}')
    elif o.what == 'names':
        for name in sorted(names(reading)):
            print(name.encode('utf-8', 'replace').decode().replace('\n', '?'))
    elif o.what == 'cache':
        make_cache(reading, o.path, o.dir)
    elif o.what == 'check':
        found = compare(o.path, reading)
        print('\n'.join(found[:20]), end='\n' if found else '')
        sys.exit(1 if found else 0)
    else:
        if o.symbols:
            theirs = perf_script(o.path, reading.perf.attrs, o.inline)
            assert len(theirs) == len(samples), (len(theirs), len(samples))
            for a, b in zip(samples, theirs):
                a.frames = [(ip, sym if o.all_names or is_kept(dso) else None, dso)
                            for ip, sym, dso in b.frames]
            named = True
        if o.offcpu is not None:
            folded = fold_off_cpu(reading.samples, reading.perf.formats(), o.offcpu)
        else:
            folded = fold(samples, event, o.count, named)
        lines = [k.encode('utf-8') + b' %d\n' % v for k, v in folded.items() if v]
        os.write(1, b''.join(sorted(lines)))


if __name__ == '__main__':
    main()
