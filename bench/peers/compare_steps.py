#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares training steps of two programs in alternating rounds on one machine.

    bench/peers/compare_steps.py [--rounds 7] [--json FILE] --tokens N -- A-COMMAND -- B-COMMAND

Each command starts a program that warms up, prints a line "ready", and then for every line of its
standard input makes some steps and prints {"seconds_per_step": …}; at the end of its input it stops.
`twill bench step --turns` and `torch_train.py --turns` do so. Both stay loaded, so the machine must
hold both at once; only one works at a time. The result is the median of the ratios of neighbouring
rounds, B's seconds over A's, with the smallest and the largest.
"""
import argparse
import json
import statistics
import subprocess
import sys


class Program:
    def __init__(self, command):
        self.command = command
        self.output = []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            sys.exit(f"{' '.join(self.command)}: ended with status {self.process.wait()} before its turn")
        self.output.append(text.rstrip())
        return text.strip()

    def wait_until_ready(self):
        while self.line() != "ready":
            pass

    def turn(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        while not (text := self.line()).startswith('{"seconds_per_step"'):
            pass
        return json.loads(text)["seconds_per_step"]

    def finish(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.output += rest.splitlines()
        return self.process.wait()


def parse_arguments():
    own, *commands = split(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--tokens", type=int, required=True, help="per step, for tokens/s")
    parser.add_argument("--json", help="file for the result and what both programs printed")
    options = parser.parse_args(own)
    if len(commands) != 2:
        parser.error(f"expected two commands, each behind a --, got {len(commands)}")
    return options, commands


def split(words):
    parts = [[]]
    for word in words:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def main():
    options, commands = parse_arguments()
    programs = []
    for command in commands:  # one after the other: each searches its algorithms undisturbed
        programs.append(Program(command))
        programs[-1].wait_until_ready()
    for program in programs:
        program.turn()  # the other one has warmed up in between
    pairs = [(programs[0].turn(), programs[1].turn()) for _ in range(options.rounds)]
    failed = [program.finish() for program in programs]
    ratios = sorted(b / a for a, b in pairs)
    result = {
        "a_tokens_per_s": round(options.tokens / statistics.median(a for a, _ in pairs), 1),
        "b_tokens_per_s": round(options.tokens / statistics.median(b for _, b in pairs), 1),
        "ratio": round(statistics.median(ratios), 4),
        "smallest": round(ratios[0], 4),
        "largest": round(ratios[-1], 4),
        "rounds": options.rounds,
    }
    print(json.dumps(result), flush=True)
    if options.json:
        details = {**result, "pairs": pairs, "a": programs[0].output, "b": programs[1].output}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(details, file, indent=1)
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
