#!/usr/bin/env python3
"""make_trace.py MEGABYTES [FILE] - a trace as PyTorch's profiler writes them, of about that size.

Steps of a training loop on two host threads and three streams of a device: operators, launches,
kernels, copies, collectives, and the arrows between them, laid out and mixed as in recordings (44 %
arrows, 30 % of the arguments with shapes). The same size always gives the same bytes. A FILE that
ends in .gz is compressed. Options: --late puts the base time behind the events, as until 2025.
"""
import gzip
import random
import sys

BASE = 1766016432000000000
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "Example GPU", "totalGlobalMem": 85899345920, "numSms": 108
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "displayTimeUnit": "ms",
%s  "traceEvents": ["""
OPERATORS = ['aten::empty', 'aten::add_', 'aten::mm', 'aten::linear', 'aten::copy_', 'aten::to',
             'autograd::engine::evaluate_function: AddmmBackward0', 'aten::native_layer_norm',
             'aten::_scaled_dot_product_flash_attention', 'aten::transpose', 'aten::view']
KERNELS = ['ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn',
           'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, '
           'at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, '
           'at::detail::Array<char*, 1>)',
           'void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>'
           '(int, float, float const*, float const*, float const*, float*, float*, float*)']


class Writer:
    def __init__(self, out, megabytes):
        self.out = out
        self.left = megabytes * 1000000
        self.first = True
        self.random = random.Random(1)
        self.now = 4458676388068751  # ns after the base
        self.correlation = 1000
        self.external = 1
        self.parts = []

    def event(self, text):
        self.parts.append(('\n  {\n' if self.first else ',\n  {\n') + text + '\n  }')
        self.first = False
        if len(self.parts) > 2000:
            self.flush()

    def flush(self):
        text = ''.join(self.parts)
        self.parts = []
        self.left -= len(text)
        self.out.write(text)

    @staticmethod
    def us(ns):
        return '%d.%03d' % (ns // 1000, ns % 1000)

    def span(self, cat, name, pid, tid, ts, dur, args):
        self.event('    "ph": "X", "cat": "%s", "name": "%s", "pid": %s, "tid": %s,\n'
                   '    "ts": %s, "dur": %s,\n    "args": {\n      %s\n    }'
                   % (cat, name, pid, tid, self.us(ts), self.us(dur), args))

    def arrow(self, phase, number, pid, tid, ts, cat):
        self.event('    "ph": "%s", "id": %d, "pid": %s, "tid": %s, "ts": %s,\n'
                   '    "cat": "%s", "name": "%s"%s'
                   % (phase, number, pid, tid, self.us(ts), cat, cat,
                      ', "bp": "e"' if phase == 'f' else ''))

    def operator(self, tid):
        r = self.random
        ts = self.now
        dur = r.randrange(4000, 60000)
        self.external += 1
        args = '"External id": %d,"Record function id": %d, "Ev Idx": %d' % (
            self.external, self.external * 3, self.external - 1)
        if r.random() < 0.3:
            args += ', "Input Dims": [[%d, 4096], [4096, %d]], "Input type": ["float", "float"]' % (
                r.choice((1, 8, 64)), r.choice((1024, 4096)))
        self.span('cpu_op', r.choice(OPERATORS), 4242, tid, ts, dur, args)
        if r.random() < 0.55:
            self.launch(tid, ts + 900, dur)
        self.now += r.randrange(1000, 30000)

    def launch(self, tid, ts, limit):
        r = self.random
        self.correlation += 1
        c = self.correlation
        begin = ts + r.randrange(5000, 90000)
        kind = r.random()
        self.span('cuda_runtime', 'cudaMemcpyAsync' if kind < 0.1 else 'cudaLaunchKernel', 4242,
                  tid, ts, min(r.randrange(3000, 9000), limit),
                  '"External id": %d, "cbid": 211, "correlation": %d' % (self.external, c))
        self.arrow('s', c, 4242, tid, ts, 'ac2g')
        if kind < 0.1:
            self.span('gpu_memcpy', 'Memcpy DtoD (Device -> Device)', 0, 7, begin,
                      r.randrange(1000, 9000),
                      '"External id": %d, "device": 0, "context": 1, "stream": 7, '
                      '"correlation": %d, "bytes": %d, "memory bandwidth (GB/s)": %r'
                      % (self.external, c, r.randrange(256, 1 << 24), r.random() * 900))
            stream = 7
        else:
            stream = 20 if kind > 0.95 else 7
            name = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)' \
                if stream == 20 else r.choice(KERNELS)
            self.span('kernel', name, 0, stream, begin, r.randrange(2000, 90000),
                      '"External id": %d, "queued": 0, "device": 0, "context": 1,\n'
                      '      "stream": %d, "correlation": %d,\n'
                      '      "registers per thread": 38,\n      "shared memory": 49152,\n'
                      '      "blocks per SM": 1.185185, "warps per SM": 9.481481,\n'
                      '      "grid": [128, 1, 1],\n      "block": [256, 1, 1],\n'
                      '      "est. achieved occupancy %%": 15' % (self.external, stream, c))
        self.arrow('f', c, 0, stream, begin, 'ac2g')
        if r.random() < 0.5:
            self.arrow('s', self.external, 4242, tid, ts, 'fwdbwd')
            self.arrow('f', self.external, 4242, 4250, ts + 30000, 'fwdbwd')

    def run(self, late):
        head = HEAD % ('' if late else '  "baseTimeNanoseconds": %d,\n' % BASE)
        self.out.write(head)
        step = 500
        while self.left > 0:
            begin = self.now
            for i in range(4000):
                self.operator(4242 if i % 3 else 4250)
                if self.left <= 0:
                    break
            self.external += 1
            self.span('user_annotation', 'ProfilerStep#%d' % step, 4242, 4242, begin,
                      self.now - begin, '"External id": %d' % self.external)
            step += 1
        self.flush()
        self.out.write('\n  ],\n  "traceName": "made.json"%s\n}\n'
                       % (',\n  "baseTimeNanoseconds": %d' % BASE if late else ''))


def main():
    words = [word for word in sys.argv[1:] if not word.startswith('--')]
    if not words:
        sys.exit(__doc__)
    if len(words) < 2:
        out = sys.stdout
    elif words[1].endswith('.gz'):
        out = gzip.open(words[1], 'wt', compresslevel=6)
    else:
        out = open(words[1], 'w')
    with out:
        Writer(out, int(words[0])).run('--late' in sys.argv)


if __name__ == '__main__':
    main()
