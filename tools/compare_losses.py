#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the losses of a GPU's bf16 run with CPU runs of the same numbers. Needs Python 3.11.

    tools/compare_losses.py --gpu RUN --cpu RUN RUN RUN [--out losses.svg] [--width 20] [--limit 3]

RUN is a run's folder (metrics.jsonl and config.toml are read). Losses are averaged over windows of
--width steps. In each window

    mean       of the CPU runs
    spread     largest less smallest of the CPU runs
    deviation  GPU run less mean
    ratio      |deviation| / the largest spread of all windows

Exit status: 0 when every ratio is at most --limit, 1 when one is not, 2 when the runs cannot be
compared.

The CPU runs are to differ in rounding alone: same data, same initial weights, same tokens in every
step, summed in another order. What does that is the cut of a step into micro-batches, which changes
neither the windows of a step nor their order (src/train/step/trainer.cpp); with dropout it would change
what is dropped. Runs with different seeds would spread so far that nothing fails.

On the CPU train.precision=bf16 rounds the operands of all products and of attention to bf16. The
runs of our own comparison, 31.7 M parameters, 300 steps of 1024 tokens:

    common="model=small model.layers=10 model.context=128 data.train=tinyshakespeare/input.txt
        train.steps=300 train.seed=1 train.batch_tokens=1024 train.precision=bf16
        optimizer.lr=6e-4 schedule.warmup_steps=30
        eval.every=0 eval.windows=16 checkpoint.every=0 log.sample_tokens=0"
    twill train $common device=cpu train.micro_batch=8 run.name=cpu-8
    twill train $common device=cpu train.micro_batch=4 run.name=cpu-4
    twill train $common device=cpu train.micro_batch=2 run.name=cpu-2
    twill train $common device=cuda train.micro_batch=8 run.name=gpu
    tools/compare_losses.py --gpu runs/gpu --cpu runs/cpu-8 runs/cpu-4 runs/cpu-2 --out losses.svg
"""
import argparse
import json
import math
import os
import sys
import tomllib

from svg_chart import chart, smooth

# What may differ between the runs; everything else decides what is learnt.
FREE_KEYS = {"device", "threads", "train.micro_batch", "train.recompute", "data.train",
             "data.validation"}
FREE_SECTIONS = ("run.", "eval.", "checkpoint.", "log.")


class RunError(Exception):
    """The runs cannot be compared."""


def name_of(run):
    return os.path.basename(os.path.normpath(run))


def flat(table, prefix=""):
    """{"train.seed": 1, ...}"""
    out = {}
    for key, value in table.items():
        if isinstance(value, dict):
            out.update(flat(value, f"{prefix}{key}."))
        else:
            out[prefix + key] = value
    return out


def read_config(run):
    path = os.path.join(run, "config.toml")
    try:
        with open(path, "rb") as file:
            keys = flat(tomllib.load(file))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"{path}: {error}") from error
    return {key: value for key, value in keys.items()
            if key not in FREE_KEYS and not key.startswith(FREE_SECTIONS)}


def read_losses(run):
    """[(step, loss)], in order."""
    path = os.path.join(run, "metrics.jsonl")
    losses = []
    try:
        with open(path) as file:
            for line in map(json.loads, file):
                if "loss" in line:
                    losses.append((line["step"], line["loss"]))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}") from error
    for step, loss in losses:
        if loss is None or not math.isfinite(loss):
            raise RunError(f"{path}: the loss of step {step} is not finite")
    if [step for step, _ in losses] != list(range(1, len(losses) + 1)):
        raise RunError(f"{path}: expected steps 1, 2, 3, ... without a gap")
    return losses


def require_same_config(runs):
    first = read_config(runs[0])
    for run in runs[1:]:
        other = read_config(run)
        for key in sorted(first.keys() | other.keys()):
            if first.get(key) != other.get(key):
                raise RunError(f"{key} is {first.get(key)!r} in {runs[0]} and {other.get(key)!r} "
                               f"in {run}; what decides numbers may not differ but for device and train.micro_batch")
    precision, dropout = first.get("train.precision"), first.get("model.dropout", 0.0)
    if precision != "bf16":
        raise RunError(f"train.precision is {precision!r} in {runs[0]}, expected 'bf16'")
    if dropout != 0.0:
        raise RunError(f"model.dropout is {dropout} in {runs[0]}, expected 0: what is dropped "
                       "depends on train.micro_batch")


def windows_of(run, width):
    """[(last step, mean loss)] of the full windows."""
    losses = read_losses(run)
    return smooth(losses[:len(losses) // width * width], width)


class Comparison:
    def __init__(self, gpu, cpu):
        """`gpu`: windows of one run; `cpu`: of several."""
        self.steps = [step for step, _ in gpu]
        columns = [[value for _, value in windows] for windows in cpu]
        self.means = [sum(values) / len(values) for values in zip(*columns)]
        self.spreads = [max(values) - min(values) for values in zip(*columns)]
        self.deviations = [value - mean for (_, value), mean in zip(gpu, self.means)]
        self.largest_spread = max(self.spreads)
        if self.largest_spread == 0.0:
            raise RunError("the CPU runs have equal losses: they must differ in train.micro_batch")
        self.ratios = [abs(value) / self.largest_spread for value in self.deviations]

    def print(self, limit):
        print("   steps  CPU mean   spread     deviation  ratio")
        for index, step in enumerate(self.steps):
            begin = self.steps[index - 1] + 1 if index > 0 else 1
            print(f"{begin:>4}-{step:<4}{self.means[index]:8.4f}  {self.spreads[index]:9.2e}  "
                  f"{self.deviations[index]:+9.2e}  {self.ratios[index]:6.2f}"
                  f"{'  <- beyond' if self.ratios[index] > limit else ''}")
        print(f"largest spread {self.largest_spread:.2e}, largest ratio {max(self.ratios):.2f}, "
              f"limit {limit:g}")


def draw(path, comparison, gpu, cpu, names, limit):
    """Every run less the mean of the CPU runs, between the limits."""
    less_mean = lambda windows: [(step, value - mean)
                                 for (step, value), mean in zip(windows, comparison.means)]
    series = [(name, less_mean(windows), []) for name, windows in zip(names, [gpu] + cpu)]
    bound = limit * comparison.largest_spread
    for sign in (1, -1):
        series.append((f"{sign * limit:+g} x spread",
                       [(step, sign * bound) for step in comparison.steps], []))
    chart(path, series, "loss less the mean of the CPU runs, nats per token", "step")


def compare(options):
    runs = [options.gpu] + options.cpu
    if len({os.path.realpath(run) for run in runs}) < len(runs):
        raise RunError("a run is named twice")
    if len(options.cpu) < 2:
        raise RunError("one CPU run has no spread; expected two or more")
    require_same_config(runs)
    gpu, *cpu = (windows_of(run, options.width) for run in runs)
    for run, windows in zip(options.cpu, cpu):
        if len(windows) != len(gpu):
            raise RunError(f"{run} has {len(windows)} windows of {options.width} steps and "
                           f"{options.gpu} has {len(gpu)}")
    if len(gpu) < 2:
        raise RunError(f"{options.gpu} has fewer than two windows of {options.width} steps")
    comparison = Comparison(gpu, cpu)
    comparison.print(options.limit)
    if options.out:
        draw(options.out, comparison, gpu, cpu, [name_of(run) for run in runs], options.limit)
    return 0 if max(comparison.ratios) <= options.limit else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", required=True, metavar="RUN")
    parser.add_argument("--cpu", required=True, nargs="+", metavar="RUN")
    parser.add_argument("--out", metavar="SVG")
    parser.add_argument("--width", type=int, default=20, help="steps per window")
    parser.add_argument("--limit", type=float, default=3.0, help="largest ratio allowed")
    options = parser.parse_args()
    try:
        return compare(options)
    except RunError as error:
        print(f"compare_losses.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
