#!/usr/bin/env python3
"""train_torch.py FOLDER [STEPS] - a small real training job with PyTorch on the CPU, with its profiler.

A network learns a function of its input; half way a checkpoint is written and synced. Writes
FOLDER/train.log, a line a step as many programs print them, and FOLDER/rank0.pt.trace.json.gz, which holds
the steps around the checkpoint. For a recording of all at once:

  scripts/capture.sh --cpu --offcpu --syscalls --strace=futex,write,openat,fsync,mmap,munmap,madvise \\
      --add FOLDER/train.log --add FOLDER/rank0.pt.trace.json.gz -o case -- python3 scripts/train_torch.py FOLDER
"""
import os
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH, BATCH, SHOWN = 512, 64, 6  # SHOWN: steps that the profiler keeps


def save(model, optimizer, path):
    with open(path, 'wb') as file:
        torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, file)
        file.flush()
        os.fsync(file.fileno())


def main():
    folder, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 80
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, 4 * WIDTH), nn.ReLU(),
                          nn.Linear(4 * WIDTH, WIDTH))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.MSELoss()
    shown_from = steps // 2 - SHOWN // 2
    plan = schedule(wait=shown_from - 1, warmup=1, active=SHOWN, repeat=1)
    with open(os.path.join(folder, 'train.log'), 'w', encoding='ascii', buffering=1) as log, \
            profile(activities=[ProfilerActivity.CPU], schedule=plan,
                    on_trace_ready=lambda p: p.export_chrome_trace(
                        os.path.join(folder, 'rank0.pt.trace.json.gz'))) as profiler:
        for step in range(steps):
            begin = time.time()
            data = torch.randn(BATCH, WIDTH)
            optimizer.zero_grad()
            loss = loss_of(model(data), data.roll(1, dims=1).abs())
            loss.backward()
            optimizer.step()
            if step == steps // 2:
                save(model, optimizer, os.path.join(folder, 'checkpoint.pt'))
            took = time.time() - begin
            now = time.time()
            stamp = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(now)) + f'.{int(now % 1 * 1000):03d}'
            log.write(f'{stamp} step {step} loss {loss.item():.5f} time {took * 1000:.3f} ms\n')
            profiler.step()
    os.remove(os.path.join(folder, 'checkpoint.pt'))


if __name__ == '__main__':
    main()
