#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the logits of Twill with those of Hugging Face transformers on the same model.

Optional: no test needs it. It wants torch and transformers (any 4.x or 5.x with a CPU build of
torch), and twill_dump_logits, which is built with the tests:

    twill export RUN DIR
    tools/compare_transformers.py DIR --dump build/bin/twill_dump_logits [--text FILE] [--run RUN]

The ids are random numbers below the vocabulary, or with --text the tokens of a file as
AutoTokenizer reads them. Twill computes from DIR, or with --run from the run that was exported;
transformers always loads DIR, in float32. Prints the largest difference of a logit and of the mean
loss; the exit status is 1 when a logit differs by more than --tolerance.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers


def ids_of(options, vocab):
    if not options.text:
        return numpy.random.default_rng(1).integers(0, vocab, options.tokens).tolist()
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.folder)
    with open(options.text, encoding="utf-8") as file:
        return tokenizer(file.read(), add_special_tokens=False)["input_ids"][: options.tokens]


def twill_logits(options, ids, vocab):
    with tempfile.TemporaryDirectory() as scratch:
        ids_file, out_file = os.path.join(scratch, "ids"), os.path.join(scratch, "logits")
        with open(ids_file, "w", encoding="utf-8") as file:
            file.write(" ".join(map(str, ids)))
        subprocess.run([options.dump, options.run or options.folder, ids_file, out_file], check=True)
        return numpy.fromfile(out_file, dtype=numpy.float32).reshape(len(ids), vocab)


def mean_loss(logits, ids):
    logits = torch.tensor(logits[:-1], dtype=torch.float64)
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:])).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--dump", default="build/bin/twill_dump_logits")
    parser.add_argument("--run", help="a run to compare the folder with")
    parser.add_argument("--text", help="file to take the tokens from")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    options = parser.parse_args()

    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder)
    model = model.to(torch.float32).eval()
    vocab = model.config.vocab_size
    ids = ids_of(options, vocab)
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].numpy()
    ours = twill_logits(options, ids, vocab)

    largest = float(numpy.abs(ours - theirs).max())
    print(f"{options.folder}: {type(model).__name__}, transformers {transformers.__version__}, "
          f"torch {torch.__version__}")
    print(f"  {len(ids)} tokens x {vocab} logits, largest |logit| {numpy.abs(theirs).max():.3f}")
    print(f"  largest difference of a logit    {largest:.3e}")
    print(f"  difference of the mean loss      {abs(mean_loss(ours, ids) - mean_loss(theirs, ids)):.3e}"
          f"  ({mean_loss(ours, ids):.6f})")
    return 0 if largest <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
