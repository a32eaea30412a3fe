# SPDX-License-Identifier: Apache-2.0
"""Line charts as SVG, with Python alone. Used by plot_metrics.py and plot_study.py."""
import math

COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4b5563"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 64, 16, 36, 44


def ticks(low, high, wanted=6):
    step = 10 ** math.floor(math.log10((high - low) / wanted))
    step = next(step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= wanted)
    value = math.ceil(low / step) * step
    while value <= high + 1e-9 * step:
        yield float(f"{value:.6g}")
        value += step


def smooth(points, width=20):
    """Means of runs of `width` points, each at the x of its last."""
    out = []
    for i in range(0, len(points), width):
        part = points[i:i + width]
        out.append((part[-1][0], sum(value for _, value in part) / len(part)))
    return out


def chart(path, series, title, x_label):
    """`series`: (name, line, dots), both lists of (x, y), either may be empty."""
    points = [p for _, line, dots in series for p in line + dots]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_low, y_high = min(p[1] for p in points), max(p[1] for p in points)
    margin = 0.05 * (y_high - y_low or 1.0)
    y_low, y_high = y_low - margin, y_high + margin
    x = lambda value: LEFT + (value - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
    y = lambda value: HEIGHT - BOTTOM - (value - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for value in ticks(y_low, y_high):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" '
                   f'y2="{y(value):.1f}" stroke="#e5e7eb"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" '
                   f'text-anchor="end">{value:g}</text>')
    for value in ticks(x_low, x_high):
        out.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                   f'text-anchor="middle">{value:g}</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text>')
    out.append(f'<text x="{LEFT}" y="18">{title}</text>')
    for index, (name, line, dots) in enumerate(series):
        colour = COLOURS[index % len(COLOURS)]
        path_points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        out.append(f'<polyline points="{path_points}" fill="none" stroke="{colour}" '
                   'stroke-width="1.5"/>')
        out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}"/>' for a, b in dots]
        out.append(f'<text x="{WIDTH - RIGHT}" y="{TOP + 16 * index}" text-anchor="end" '
                   f'fill="{colour}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
