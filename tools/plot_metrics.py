#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the losses of runs as an SVG picture. Optional; needs Python alone.

  tools/plot_metrics.py RUN... --out losses.svg [--from STEP] [--dir runs]

RUN is a run's name in --dir, or its path. The thin line is the training loss (mean over 20 steps), the dots are the validation loss.
"""
import argparse
import json
import os

from svg_chart import chart, smooth


def read(run):
    train, validation = [], []
    with open(os.path.join(run, "metrics.jsonl")) as lines:
        for line in map(json.loads, lines):
            if line.get("loss") is not None:
                train.append((line["step"], line["loss"]))
            if line.get("val_loss") is not None:
                validation.append((line["step"], line["val_loss"]))
    return train, validation


def path_of(run, folder):
    inside = os.path.join(folder, run)
    for path in (inside, run):
        if os.path.exists(os.path.join(path, "metrics.jsonl")):
            return path
    raise SystemExit(f"no run named {run}: neither {inside} nor {run} holds a metrics.jsonl")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--dir", default="runs")
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    series = []
    for run in options.runs:
        train, validation = read(path_of(run, options.dir))
        keep = lambda points: [p for p in points if p[0] >= options.first]
        series.append((os.path.basename(run.rstrip("/")), keep(smooth(train)), keep(validation)))
    chart(options.out, series, "loss, nats per token: line training, dots validation", "step")


if __name__ == "__main__":
    main()
