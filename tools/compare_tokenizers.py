#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Twill's tokenizers with Hugging Face's `tokenizers`. Optional: needs that package (PyPI).

  python3 -m venv venv && venv/bin/pip install tokenizers
  venv/bin/python tools/compare_tokenizers.py ids   --twill build/bin/twill --tokenizer T FILE...
  venv/bin/python tools/compare_tokenizers.py codes --twill ... --tokenizer T
  venv/bin/python tools/compare_tokenizers.py random --twill ... --tokenizer T --count 100000
  venv/bin/python tools/compare_tokenizers.py speed --twill ... --tokenizer T FILE

T is a tokenizer.json, a vocab.txt of BERT, or a folder with one of them.
  ids     every line of every file, and blocks of 50 lines; .xz files and .tar.xz archives as well
  codes   every code point alone, between letters, behind a space and between digits
  random  random strings of all planes, marks, controls, CJK, white space, mixed with ASCII
  speed   pairs of runs in alternation on one core, the median of the paired ratios, and two cores
--golden OUT (with random) writes the strings and Hugging Face's ids as JSON Lines.
Exit status 1 when any id differs.
"""
import argparse
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")


def load_hf(path):
    from tokenizers import Tokenizer
    if os.path.isdir(path):
        names = [n for n in ("tokenizer.json", "vocab.txt") if os.path.exists(os.path.join(path, n))]
        path = os.path.join(path, names[0])
    if path.endswith("vocab.txt"):
        from tokenizers import BertWordPieceTokenizer
        return BertWordPieceTokenizer(path)._tokenizer, path
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, path


def separator_of(hf):
    for name in ("<|endoftext|>", "[SEP]", "</s>"):
        if hf.token_to_id(name) is not None:
            return name, hf.token_to_id(name)
    sys.exit("the tokenizer has no token to divide texts with")


class Comparison:
    """Texts go to Twill in one stream, divided by a special token, which no tokenizer joins over."""

    def __init__(self, args):
        self.twill, self.where = args.twill, args.tokenizer
        self.hf, _ = load_hf(args.tokenizer)
        self.name, self.id = separator_of(self.hf)
        self.texts = self.bad = 0

    def twill_ids(self, texts):
        data = self.name.join(texts).encode("utf-8", "surrogatepass")
        done = subprocess.run([self.twill, "tokenizer", "encode", "--tokenizer", self.where, "-"],
                              input=data, capture_output=True, check=True)
        groups, group = [], []
        mark = str(self.id).encode()
        for word in done.stdout.split():
            if word == mark:
                groups.append(group)
                group = []
            else:
                group.append(int(word))
        groups.append(group)
        return iter(groups)

    def ids_of(self, text, groups):
        """A text that has the dividing token in it takes several groups."""
        ids = list(next(groups))
        for _ in range(text.count(self.name)):
            ids += [self.id] + next(groups)
        return ids

    def compare(self, texts):
        if not texts:
            return
        ours = self.twill_ids(texts)
        theirs = self.hf.encode_batch(texts, add_special_tokens=False)
        for text, other in zip(texts, theirs):
            own = self.ids_of(text, ours)
            self.texts += 1
            if own != other.ids:
                self.bad += 1
                if self.bad <= 10:
                    print("differs:", ascii(text[:80]), own[:12], other.ids[:12])

    def compare_many(self, texts, batch_chars=4_000_000):
        batch, size = [], 0
        for text in texts:
            batch.append(text)
            size += len(text) + 20
            if size > batch_chars:
                self.compare(batch)
                batch, size = [], 0
        self.compare(batch)

    def report(self, what):
        print(f"{what}: {self.texts} texts, {self.bad} differ", flush=True)


def streams(path):
    if path.endswith((".tar.xz", ".tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member)
    elif path.endswith(".xz"):
        yield path, lzma.open(path)
    else:
        yield path, open(path, "rb")


def lines_of(stream):
    for line in io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n"):
        yield line.rstrip("\n")


def blocks_of(stream, lines_per_block=50):
    block = []
    for line in io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n"):
        block.append(line)
        if len(block) == lines_per_block:
            yield "".join(block)
            block = []
    yield "".join(block)


def code_points():
    return [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def code_point_texts():
    for c in code_points():
        c = chr(c)
        yield c
        yield "a" + c + "b"
        yield " " + c + " " + c
        yield "1" + c + "2"
        yield "E" + c + c + "\n" + c + "x"


def random_texts(count, seed):
    rng = random.Random(seed)
    pools = [
        lambda: chr(rng.randrange(32, 127)), lambda: chr(rng.randrange(32, 127)),
        lambda: rng.choice(" \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u180e\u2003\u2028\u202f\u205f\u3000\ufeff "),
        lambda: chr(rng.randrange(0, 32)), lambda: chr(rng.randrange(0x80, 0x250)),
        lambda: chr(rng.randrange(0x300, 0x370)), lambda: chr(rng.randrange(0x370, 0x700)),
        lambda: chr(rng.randrange(0x900, 0x1100)), lambda: chr(rng.randrange(0x2000, 0x2bff)),
        lambda: chr(rng.randrange(0x3040, 0xa000)), lambda: chr(rng.randrange(0xac00, 0xd7b0)),
        lambda: chr(rng.randrange(0xe000, 0x10000)), lambda: chr(rng.randrange(0x10000, 0x20000)),
        lambda: chr(rng.randrange(0x20000, 0x110000)), lambda: chr(rng.randrange(0x1f300, 0x1fb00)),
        lambda: rng.choice(["'s", "'ll", "'RE", "n't", "  ", "...", "##", "\r\n", "İ", "ß", "Σς", "ﬁ"]),
        lambda: "".join(rng.choice("etaoinshrdlu") for _ in range(rng.randrange(1, 9))),
        lambda: str(rng.randrange(10 ** rng.randrange(1, 8))),
    ]
    for _ in range(count):
        length = rng.choice([1, 2, 3, 5, 8, 20, 60])
        few = rng.sample(pools, rng.randrange(1, 7))
        yield "".join(rng.choice(few)() for _ in range(length))


def write_golden(path, comparison, texts):
    with open(path, "w", encoding="ascii") as out:
        for text in texts:
            ids = comparison.hf.encode(text, add_special_tokens=False).ids
            out.write(json.dumps({"text": text, "ids": ids}) + "\n")


def twill_speed(args, threads):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        subprocess.run([args.twill, "bench", "tokenizer", args.files[0], "--tokenizer", args.tokenizer,
                        "--steps", "1", "--threads", str(threads), "--json", result.name],
                       check=True, stdout=subprocess.DEVNULL)
        return json.load(open(result.name))


# The ways to use the package, all on one core: the fastest is what we compare with.
HF_WAYS = {
    "line by line": lambda hf, lines: [hf.encode(line, add_special_tokens=False) for line in lines],
    "batches of 1,000 lines": lambda hf, lines: [
        hf.encode_batch(lines[i:i + 1000], add_special_tokens=False)
        for i in range(0, len(lines), 1000)],
    "fast batches": lambda hf, lines: [
        hf.encode_batch_fast(lines[i:i + 1000], add_special_tokens=False)
        for i in range(0, len(lines), 1000)],
    "one text": lambda hf, lines: hf.encode("\n".join(lines), add_special_tokens=False),
}


def hf_speed(hf, way, lines, num_bytes):
    start = time.perf_counter()
    HF_WAYS[way](hf, lines)
    return num_bytes / 1e6 / (time.perf_counter() - start)


def fastest_way(hf, lines, num_bytes):
    speeds = {way: hf_speed(hf, way, lines, num_bytes) for way in HF_WAYS}
    for way, rate in speeds.items():
        print(f"tokenizers, {way}: {rate:.2f} MB/s")
    return max(speeds, key=speeds.get)


def speed(args):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    hf, _ = load_hf(args.tokenizer)
    text = open(args.files[0], "rb").read().decode("utf-8", "replace")
    texts, size = text.split("\n"), len(text.encode())
    way = fastest_way(hf, texts, size)
    one, two = [], []
    for _ in range(args.pairs):
        ours = twill_speed(args, 2)
        theirs = hf_speed(hf, way, texts, size)
        one.append((ours["one_thread_mb_s"] / theirs, ours["one_thread_mb_s"], theirs))
        two.append(ours["all_threads_mb_s"] / ours["one_thread_mb_s"])
    one.sort()
    two.sort()
    ratio = one[len(one) // 2]
    print(f"twill / tokenizers, one core: {ratio[0]:.2f} times (pairs {one[0][0]:.2f} to "
          f"{one[-1][0]:.2f}); in the median pair {ratio[1]:.1f} and {ratio[2]:.2f} MB/s")
    print(f"two threads / one: {two[len(two) // 2]:.2f} times ({two[0]:.2f} to {two[-1]:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ids", "codes", "random", "speed"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--twill", default="twill")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--golden")
    args = parser.parse_intermixed_args()
    if args.what == "speed":
        return speed(args)
    comparison = Comparison(args)
    if args.what == "ids":
        for path in args.files:
            for cut in (lines_of, blocks_of):
                for name, stream in streams(path):
                    comparison.compare_many(cut(stream))
            comparison.report(path)
    elif args.what == "codes":
        comparison.compare_many(code_point_texts(), 20_000_000)
        comparison.report("code points")
    else:
        texts = list(random_texts(args.count, args.seed))
        comparison.compare_many(texts)
        comparison.report("random strings")
        if args.golden:
            write_golden(args.golden, comparison, texts)
    return 1 if comparison.bad else 0


if __name__ == "__main__":
    sys.exit(main())
