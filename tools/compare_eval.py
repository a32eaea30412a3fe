#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `twill eval` with transformers on the same model, task by task and text by text.

    twill eval MODEL --tasks piqa,lambada --data DATA --text FILE --limit 200 \\
        --json result.json --details details.jsonl
    tools/compare_eval.py MODEL result.json details.jsonl

MODEL is a folder that transformers loads, with its tokenizer. Everything is computed again, one
sequence at a time, from the task files named in result.json: contexts, tokens, log-likelihoods,
choices. Needs torch and transformers (tried: torch 1.13.1, transformers 4.40.2); nothing of Twill
is imported. Fails unless every log-likelihood agrees to 1e-3 per token, every loss of a text to
1e-3, and every choice is the same (or the two best lie closer than the rounding of the sums).
"""
import argparse
import gzip
import json
import lzma
import math
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FORMATS = {
    "piqa": "Question: {}\nAnswer:",
    "arc_easy": "Question: {}\nAnswer:",
    "arc_challenge": "Question: {}\nAnswer:",
    "siqa": "Q: {}\nA:",
}


def open_text(path):
    if path.endswith(".xz"):
        return lzma.open(path, "rt", encoding="utf-8", newline="\n")
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return open(path, encoding="utf-8", newline="\n")


def pairs_of(task, record):
    """Contexts and continuations of one line of a task's file."""
    if "text" in record:
        context, word = record["text"].rsplit(" ", 1)
        return [(context, " " + word)]
    if task == "winogrande":
        before, after = record["query"].split("_", 1)
        return [(before + choice, " " + after.strip()) for choice in record["choices"]]
    context = FORMATS.get(task, "{}").replace("{}", record["query"])
    return [(context, " " + choice) for choice in record["choices"]]


class Model:
    def __init__(self, folder, context):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32).eval()
        config = self.model.config
        self.context = context or config.max_position_embeddings
        # As Twill: LLaMA's tokenizer begins every text, GPT-2's none.
        gpt2 = config.model_type == "gpt2"
        self.begin = None if gpt2 else self.tokenizer.bos_token_id
        self.prefix = self.tokenizer.eos_token_id if self.begin is None else self.begin
        if self.prefix is None:  # bytes
            self.prefix = self.encode("\n")[-1]

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)

    def request(self, context, continuation):
        kept = context.rstrip()
        whole = self.encode(context + continuation)
        scored = len(whole) - len(self.encode(kept)) if kept else len(whole)
        if self.begin is not None or not kept:
            whole = [self.prefix] + whole
        return whole, scored

    @torch.no_grad()
    def score(self, tokens, scored):
        """Sum of log-likelihoods of the last `scored` tokens, and whether all are greedy."""
        tokens = tokens[-(self.context + 1):]
        logits = self.model(torch.tensor([tokens[:-1]])).logits[0, -scored:].double()
        targets = torch.tensor(tokens[-scored:])
        losses = torch.log_softmax(logits, dim=-1)[torch.arange(scored), targets]
        return losses.sum().item(), bool((logits.argmax(dim=-1) == targets).all())


def best_of(scores):
    return max(range(len(scores)), key=lambda i: (scores[i], -i))


def compare_example(model, task, record, got):
    """Returns the largest difference per token and a list of complaints."""
    scores, sizes, complaints, worst = [], [], [], 0.0
    for i, (context, continuation) in enumerate(pairs_of(task, record)):
        tokens, scored = model.request(context, continuation)
        score, greedy = model.score(tokens, scored)
        scores.append(score)
        sizes.append(scored)
        if scored != got["tokens"][i]:
            complaints.append(f"{scored} tokens, twill {got['tokens'][i]}")
        worst = max(worst, abs(score - got["log_likelihoods"][i]) / scored)
        if greedy != got["greedy"][i]:
            complaints.append(f"greedy {greedy}, twill {got['greedy'][i]}")
    if worst > 1e-3:
        complaints.append(f"log-likelihoods differ by {worst} per token")
    if "choice" in got:
        lengths = [len(choice.encode("utf-8")) for choice in record["choices"]]
        norms = [score / length for score, length in zip(scores, lengths)]
        for key, values in (("choice", scores), ("choice_norm", norms)):
            best, theirs = best_of(values), got[key]
            close = abs(values[best] - values[theirs]) <= 2e-6 * max(sizes) * max(map(abs, values))
            if best != theirs and not close:
                complaints.append(f"{key} {best}, twill {theirs}")
    return worst, complaints


def compare_task(model, task, details):
    examples = {d["line"]: d for d in details if d["task"] == task["task"]}
    worst, bad = 0.0, 0
    with open_text(task["file"]) as lines:
        for number, line in enumerate(lines, 1):
            if number not in examples:
                continue
            difference, complaints = compare_example(model, task["task"], json.loads(line),
                                                     examples[number])
            worst = max(worst, difference)
            bad += bool(complaints)
            for complaint in complaints:
                print(f"{task['file']}: line {number}: {complaint}")
    print(f"{task['task']}: {len(examples)} examples, {bad} differ, "
          f"largest difference per token {worst:.2e}")
    return bad


def windows(tokens, prefix, context):
    """Every token once; the last window is full, and so predicts only what is left."""
    done = min(context, len(tokens))
    yield [prefix] + tokens[:done], done
    while done < len(tokens):
        scored = min(len(tokens) - done, context)
        done += scored
        yield tokens[done - context - 1:done], scored


def compare_text(model, text):
    with open_text(text["file"]) as stream:
        content = stream.read()
    tokens = model.encode(content)
    nats = -sum(model.score(*window)[0] for window in windows(tokens, model.prefix, model.context))
    loss, size = nats / len(tokens), len(content.encode("utf-8"))
    bits = nats / size / math.log(2)
    bad = (len(tokens) != text["tokens"] or size != text["bytes"]
           or abs(loss - text["loss"]) > 1e-3 or abs(bits - text["bits_per_byte"]) > 1e-3)
    print(f"{text['file']}: loss {loss:.6f}, twill {text['loss']:.6f}; bits per byte {bits:.6f}, "
          f"twill {text['bits_per_byte']:.6f}; {len(tokens)} tokens, twill {text['tokens']}")
    return int(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", help="folder that transformers loads")
    parser.add_argument("result", help="what --json wrote")
    parser.add_argument("details", nargs="?", help="what --details wrote")
    parser.add_argument("--context", type=int, help="tokens the model sees, if not its config's")
    arguments = parser.parse_args()
    model = Model(arguments.model, arguments.context)
    with open(arguments.result, encoding="utf-8") as stream:
        result = json.load(stream)
    details = []
    if arguments.details:
        with open(arguments.details, encoding="utf-8") as stream:
            details = [json.loads(line) for line in stream]
    bad = sum(compare_text(model, text) for text in result["texts"])
    bad += sum(compare_task(model, task, details) for task in result["tasks"])
    print("all agree" if bad == 0 else f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
