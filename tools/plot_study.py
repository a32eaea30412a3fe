#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of the runs of tools/study.sh. Optional; needs Python alone.

  tools/plot_study.py OUT PICTURES      OUT: what study.sh wrote; tables go to the terminal
"""
import glob
import json
import os
import statistics
import sys

from svg_chart import chart, smooth


class Run:
    def __init__(self, folder):
        self.loss, self.flips, self.val, self.flops, self.extra = [], [], [], [], {}
        with open(os.path.join(folder, "metrics.jsonl")) as lines:
            for line in map(json.loads, lines):
                self.take(line)

    def take(self, line):
        step = line["step"]
        if "loss" in line:
            self.loss.append((step, line["loss"]))
        if "flops" in line:
            self.flops.append((step, line["flops"], line["flops_dense"]))
        if "val_loss" in line:
            self.val.append((step, line["val_loss"]))
            self.extra = line
        if "flip_rate" in line.get("health", {}):
            self.flips.append((step, line["health"]["flip_rate"]))

    @property
    def final(self):
        return self.val[-1][1]

    @property
    def flop_share(self):
        return self.flops[-1][1] / self.flops[-1][2] if self.flops else 1.0


def load(out):
    runs = {}
    for folder in sorted(glob.glob(os.path.join(out, "*", ""))):
        if os.path.exists(os.path.join(folder, "done")):
            runs[os.path.basename(folder.rstrip("/"))] = Run(folder)
    return runs


def seeds(runs, name):
    return [runs[f"{name}-{seed}"] for seed in (1, 2, 3) if f"{name}-{seed}" in runs]


def mean_curve(curves):
    return [(points[0][0], statistics.mean(value for _, value in points))
            for points in zip(*curves)]


def table(runs):
    print("| run | seeds | validation loss, mean | spread | against dense | FLOPs |")
    print("|---|---|---|---|---|---|")
    base = {"venom": "relu2-dense", "relu2-dense": "relu2-dense"}
    for name in ("dense", "fst", "s-ste", "ste", "mst", "dense-short", "relu2-dense", "venom"):
        found = seeds(runs, name)
        dense = seeds(runs, base.get(name, "dense"))
        if not found or not dense:
            continue
        losses = [run.final for run in found]
        share = found[0].flop_share * found[0].loss[-1][0] / dense[0].loss[-1][0]
        gap = statistics.mean(losses) - statistics.mean(run.final for run in dense)
        print(f"| {name} | {len(losses)} | {statistics.mean(losses):.4f} | "
              f"{max(losses) - min(losses):.4f} | {gap:+.4f} | {share:.3f} |")
    print("\n| run | seeds | validation loss, mean | spread | mean flip rate, last quarter of the "
          "sparse phase |")
    print("|---|---|---|---|---|")
    for name in sorted({name.rsplit("-", 1)[0] for name in runs}):
        found = seeds(runs, name)
        if not name.startswith(("fst", "s-ste")) or not found:
            continue
        losses = [run.final for run in found]
        print(f"| {name} | {len(losses)} | {statistics.mean(losses):.4f} | "
              f"{max(losses) - min(losses):.4f} | {statistics.mean(map(late_flips, found)):.5f} |")


def late_flips(run):
    late = [flip for step, flip in run.flips if step > 0.75 * run.flips[-1][0]]
    return statistics.mean(late)


def draw(runs, pictures):
    path = lambda name: os.path.join(pictures, name)
    curves = []
    for name in ("dense", "fst", "s-ste", "ste", "mst"):
        found = seeds(runs, name)
        if found:
            curves.append((name, smooth(mean_curve([run.loss for run in found]), 50)[4:],
                           mean_curve([run.val for run in found])[1:]))
    chart(path("recipes_loss.svg"), curves,
          "loss, nats per character, mean of three seeds: line training, dots validation", "step")
    flips = [(name[:-2].replace("fst-lambda-", "λ "), smooth(run.flips, 4), [])
             for name, run in runs.items()
             if name == "fst-1" or (name.startswith("fst-lambda") and name.endswith("-1"))]
    if "dense-1" in runs:
        flips.insert(0, ("dense (virtual)", smooth(runs["dense-1"].flips, 4), []))
    chart(path("recipes_flips.svg"), flips, "flip rate per step of the transposable mask", "step")
    by_flops = []
    for name in ("dense", "dense-short", "mst"):
        found = seeds(runs, name)
        if not found:
            continue
        share = dict((step, flops / 1e12) for step, flops, _ in found[0].flops)
        per_step = flops_per_step(runs)
        place = lambda step, share=share: share.get(step, step * per_step)
        curve = smooth(mean_curve([run.loss for run in found]), 25)[2:]
        by_flops.append((name, [(place(step), loss) for step, loss in curve],
                         [(place(found[0].val[-1][0]),
                           statistics.mean(run.final for run in found))]))
    chart(path("recipes_flops.svg"), by_flops,
          "loss against FLOPs spent; dot: validation loss at the end", "10^12 FLOPs")


def flops_per_step(runs):
    """Of a dense step, from any sparse run's account."""
    run = next(run for run in runs.values() if run.flops)
    step, _, dense = run.flops[-1]
    return dense / step / 1e12


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    runs = load(sys.argv[1])
    table(runs)
    os.makedirs(sys.argv[2], exist_ok=True)
    draw(runs, sys.argv[2])


if __name__ == "__main__":
    main()
