#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the losses of runs as an SVG picture. Optional; needs Python alone.

  tools/plot_metrics.py RUN... --out losses.svg [--from STEP]

The thin line is the training loss (mean over 20 steps), the dots are the validation loss.
"""
import argparse
import json
import math
import os

COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 56, 16, 36, 44


def read(run):
    train, validation = [], []
    with open(os.path.join(run, "metrics.jsonl")) as lines:
        for line in map(json.loads, lines):
            if line.get("loss") is not None:
                train.append((line["step"], line["loss"]))
            if line.get("val_loss") is not None:
                validation.append((line["step"], line["val_loss"]))
    return train, validation


def smooth(points, width=20):
    out = []
    for i in range(0, len(points), width):
        part = points[i:i + width]
        out.append((part[-1][0], sum(loss for _, loss in part) / len(part)))
    return out


def ticks(low, high, wanted=6):
    step = 10 ** math.floor(math.log10((high - low) / wanted))
    step = next(step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= wanted)
    value = math.ceil(low / step) * step
    while value <= high + 1e-9:
        yield round(value, 6)
        value += step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    series = []
    for run in options.runs:
        train, validation = read(run)
        keep = lambda points: [p for p in points if p[0] >= options.first]
        series.append((os.path.basename(run.rstrip("/")), keep(smooth(train)), keep(validation)))
    points = [p for _, train, validation in series for p in train + validation]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_low, y_high = min(p[1] for p in points), max(p[1] for p in points)
    margin = 0.05 * (y_high - y_low)
    y_low, y_high = y_low - margin, y_high + margin
    x = lambda step: LEFT + (step - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
    y = lambda loss: HEIGHT - BOTTOM - (loss - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for loss in ticks(y_low, y_high):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(loss):.1f}" y2="{y(loss):.1f}" '
                   'stroke="#e5e7eb"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:g}</text>')
    for step in ticks(x_low, x_high):
        out.append(f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                   f'text-anchor="middle">{step:g}</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text>')
    out.append(f'<text x="{LEFT}" y="18">loss, nats per token: line training, dots validation</text>')
    for index, (name, train, validation) in enumerate(series):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in train)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for step, loss in validation:
            out.append(f'<circle cx="{x(step):.1f}" cy="{y(loss):.1f}" r="3.5" fill="{colour}"/>')
        out.append(f'<text x="{WIDTH - RIGHT}" y="{TOP + 16 * index}" text-anchor="end" '
                   f'fill="{colour}">{name}</text>')
    out.append("</svg>")
    with open(options.out, "w") as file:
        file.write("\n".join(out) + "\n")


main()
