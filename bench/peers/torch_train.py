#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures dense training with PyTorch and torch.compile: the peer that Twill is compared with.

    bench/peers/torch_train.py --model gpt2-124m [--batch 64] [--micro-batches 1]
                               [--attention default|cudnn|flash] [--steps 10] [--warmup 10] [--seconds 20]
    bench/peers/torch_train.py --model gpt2-124m,gpt2-350m,gpt2-1558m,llama-1.2b

Prints one JSON line per model. A model that fails, for want of memory or of an attention kernel, has
a line with "error" and the others still run; the exit status is then 1. bench/peers/README.md says
what is measured and what is not.
"""
import argparse
import contextlib
import dataclasses
import gc
import json
import math
import statistics
import sys
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

MIN_WINDOWS = 3
NUM_BATCHES = 8  # of random tokens, taken in turn
GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Shape:
    family: str
    layers: int
    width: int
    heads: int
    ffn: int
    vocab: int
    context: int
    batch: int

    @property
    def head_dim(self):
        return self.width // self.heads


def gpt2(layers, width, heads, batch):
    return Shape("gpt", layers, width, heads, 4 * width, 50304, 1024, batch)


SHAPES = {
    "gpt2-124m": gpt2(12, 768, 12, batch=64),
    "gpt2-350m": gpt2(24, 1024, 16, batch=32),
    "gpt2-1558m": gpt2(48, 1600, 25, batch=16),
    "llama-1.2b": Shape("llama", 22, 2048, 32, 5632, 32768, 2048, 12),
    # To try this script without a GPU.
    "tiny-gpt": Shape("gpt", 2, 64, 4, 256, 256, 64, 4),
    "tiny-llama": Shape("llama", 2, 64, 4, 192, 256, 64, 4),
}


# --- the model -----------------------------------------------------------------------------------


def rotary_tables(shape, theta=10000.0):
    """Cosines and sines (context, head_dim / 2)."""
    pairs = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float64), theta**-pairs)
    return angles.cos().float(), angles.sin().float()


def rotate(x, cos, sin):
    """Turns the pairs (i, i + D/2) of x (B, heads, T, D)."""
    u, v = x.float().chunk(2, dim=-1)
    return torch.cat((u * cos - v * sin, u * sin + v * cos), dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        bias = shape.family == "gpt"
        self.heads, self.head_dim = shape.heads, shape.head_dim
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=bias)
        self.output = nn.Linear(shape.width, shape.width, bias=bias)

    def forward(self, x, rotary):
        batch, time_, width = x.shape
        qkv = self.qkv(x).view(batch, time_, 3, self.heads, self.head_dim)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        if rotary is not None:
            q, k = rotate(q, *rotary), rotate(k, *rotary)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).reshape(batch, time_, width))


class GeluFfn(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input = nn.Linear(shape.width, shape.ffn)
        self.output = nn.Linear(shape.ffn, shape.width)

    def forward(self, x):
        return self.output(F.gelu(self.input(x), approximate="tanh"))


class SwigluFfn(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input = nn.Linear(shape.width, 2 * shape.ffn, bias=False)
        self.output = nn.Linear(shape.ffn, shape.width, bias=False)

    def forward(self, x):
        value, gate = self.input(x).chunk(2, dim=-1)
        return self.output(value * F.silu(gate))


def make_norm(shape):
    return (nn.LayerNorm if shape.family == "gpt" else nn.RMSNorm)(shape.width, eps=1e-5)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.attention_norm = make_norm(shape)
        self.attention = Attention(shape)
        self.ffn_norm = make_norm(shape)
        self.ffn = (GeluFfn if shape.family == "gpt" else SwigluFfn)(shape)

    def forward(self, x, rotary):
        x = x + self.attention(self.attention_norm(x), rotary)
        return x + self.ffn(self.ffn_norm(x))


class Decoder(nn.Module):
    """Returns the mean cross entropy of all tokens. The head is the token table."""

    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocab, shape.width)
        if shape.family == "gpt":
            self.positions = nn.Embedding(shape.context, shape.width)
        else:
            cos, sin = rotary_tables(shape)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)
        self.family = shape.family
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.final_norm = make_norm(shape)
        self._initialise(shape)

    def _initialise(self, shape):
        for name, parameter in self.named_parameters():
            if parameter.dim() == 1:
                nn.init.constant_(parameter, 1.0 if name.endswith("norm.weight") else 0.0)
                continue
            onto_stream = name.endswith("output.weight")
            nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if onto_stream else 0.02)

    def forward(self, tokens, targets):
        time_ = tokens.shape[1]
        x, rotary = self.tokens(tokens), None
        if self.family == "gpt":
            x = x + self.positions.weight[:time_]
        else:
            rotary = self.cos[:time_], self.sin[:time_]
        for block in self.blocks:
            x = block(x, rotary)
        logits = F.linear(self.final_norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


# --- training ------------------------------------------------------------------------------------


def make_optimizer(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), eps=1e-8, fused=True)


def random_batches(shape, batch, device):
    """Pairs of tokens and targets (batch, context)."""
    ids = torch.randint(shape.vocab, (NUM_BATCHES, batch, shape.context + 1), device=device)
    return [(rows[:, :-1].contiguous(), rows[:, 1:].contiguous()) for rows in ids]


def make_step(model, batches, options, device):
    """A function that makes one optimizer step and returns its loss, still on the device."""
    optimizer = make_optimizer(model)
    parameters = list(model.parameters())
    compiled = torch.compile(model) if options.compile else model
    turn = 0

    def step():
        nonlocal turn
        total = 0.0
        for _ in range(options.micro_batches):
            tokens, targets = batches[turn % len(batches)]
            turn += 1
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = compiled(tokens, targets) / options.micro_batches
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    return step


# --- measuring -----------------------------------------------------------------------------------


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def mark(device):
    """A point in time: of the GPU's queue, or of the wall clock."""
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def milliseconds(begin, end):
    return (end - begin) * 1e3 if isinstance(begin, float) else begin.elapsed_time(end)


def turns(options, windows):
    """Once per window to be measured: as long as --seconds say, or whenever compare_steps.py asks."""
    if not options.turns:
        begin = time.perf_counter()
        while len(windows) < MIN_WINDOWS or time.perf_counter() - begin < options.seconds:
            yield
        return
    print("ready", flush=True)
    for _ in sys.stdin:
        yield
        print(json.dumps({"seconds_per_step": windows[-1]}), flush=True)


def measure(step, options, device):
    """Seconds per step of every window, milliseconds of every step, and the last loss."""
    windows, steps, loss = [], [], None
    for _ in turns(options, windows):
        synchronize(device)
        start = time.perf_counter()
        marks = [mark(device)]
        for _ in range(options.steps):
            loss = step()
            marks.append(mark(device))
        synchronize(device)
        windows.append((time.perf_counter() - start) / options.steps)
        steps += [milliseconds(a, b) for a, b in zip(marks, marks[1:])]
    return windows, steps, loss.item()


def attention_backend(shape, batch, device):
    """What scaled_dot_product_attention picks for this shape, or None where it does not say."""
    try:
        dims = (batch, shape.context, shape.heads, shape.head_dim)
        q, k, v = (
            torch.empty(dims, dtype=torch.bfloat16, device=device, requires_grad=True).transpose(1, 2)
            for _ in range(3)
        )
        return SDPBackend(torch._fused_sdp_choice(q, k, v, None, 0.0, True)).name
    except (AttributeError, TypeError, ValueError):
        return None


def chosen_attention(options):
    backends = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
    if options.attention in backends:
        return sdpa_kernel(backends[options.attention])
    return contextlib.nullcontext()


def memory_gib(device):
    if device.type != "cuda":
        return {"peak_allocated_gib": None, "peak_reserved_gib": None}
    return {
        "peak_allocated_gib": round(torch.cuda.max_memory_allocated(device) / GIB, 2),
        "peak_reserved_gib": round(torch.cuda.max_memory_reserved(device) / GIB, 2),
    }


def train(name, shape, batch, options, device):
    """The result of one model. Whatever it held is unreachable when it returns."""
    torch.manual_seed(options.seed)
    with torch.device(device):
        model = Decoder(shape)
    batches = random_batches(shape, batch, device)
    step = make_step(model, batches, options, device)
    with chosen_attention(options):
        backend = attention_backend(shape, batch, device)
        start = time.perf_counter()
        for i in range(options.warmup):
            step()
            if i == 0:
                synchronize(device)
                print(f"{name}: first step after {time.perf_counter() - start:.1f} s",
                      file=sys.stderr, flush=True)
        synchronize(device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        windows, steps, loss = measure(step, options, device)
    tokens = batch * options.micro_batches * shape.context
    return {
        "tokens_per_s": round(tokens / statistics.median(windows), 1),
        "ms_per_step": round(statistics.median(steps), 3),
        **memory_gib(device),
        "loss": round(loss, 6),
        "attention": options.attention,
        "attention_backend": backend,
        "parameters": sum(p.numel() for p in model.parameters()),
        "windows": len(windows),
        "slowest_window_tokens_per_s": round(tokens / max(windows), 1),
        "fastest_window_tokens_per_s": round(tokens / min(windows), 1),
    }


def release(device):
    """Gives the memory of the model before back."""
    gc.collect()
    torch._dynamo.reset()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def run(name, shape, batch, options, device):
    line = {
        "model": name,
        "batch": batch,
        "micro_batches": options.micro_batches,
        "context": shape.context,
        "heads": shape.heads,
        "vocab": shape.vocab,
        "compiled": options.compile,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }
    try:
        line |= train(name, shape, batch, options, device)
    except RuntimeError as error:  # out of memory, or no attention kernel for the shape
        traceback.print_exc()
        line["error"] = f"{type(error).__name__}: {error}".partition("\n")[0]
    release(device)
    return line


# --- the command line ----------------------------------------------------------------------------


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def positive_list(text):
    return [positive(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True,
                        help="one or several, separated by commas: " + ", ".join(SHAPES))
    parser.add_argument("--batch", type=positive_list,
                        help="sequences per micro-batch, one number or one per model; default: "
                        + ", ".join(f"{name} {shape.batch}" for name, shape in SHAPES.items()))
    parser.add_argument("--micro-batches", type=positive, default=1,
                        help="backward passes per optimizer step; default 1")
    parser.add_argument("--steps", type=positive, default=10, help="per timed window; default 10")
    parser.add_argument("--warmup", type=positive, default=10,
                        help="steps in front, with the compilation; default 10")
    parser.add_argument("--seconds", type=float, default=20.0,
                        help=f"windows are timed until these have passed, and at least {MIN_WINDOWS}; "
                        "default 20")
    parser.add_argument("--attention", choices=["default", "cudnn", "flash"], default="default")
    parser.add_argument("--turns", action="store_true",
                        help="for compare_steps.py: one window per line of standard input")
    parser.add_argument("--heads", type=positive, help="instead of the model's; must divide its width")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="eager PyTorch")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    options.models = options.model.split(",")
    for name in options.models:
        if name not in SHAPES:
            parser.error(f"no model '{name}': {', '.join(SHAPES)}")
        if options.heads and SHAPES[name].width % (2 * options.heads):
            parser.error(f"--heads {options.heads} leaves no even head width of {SHAPES[name].width}")
    if options.batch and len(options.batch) not in (1, len(options.models)):
        parser.error(f"--batch has {len(options.batch)} numbers for {len(options.models)} models")
    if options.turns and len(options.models) > 1:
        parser.error("--turns takes one model")
    if options.attention != "default" and not options.device.startswith("cuda"):
        parser.error(f"--attention {options.attention} needs a CUDA device")
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("PyTorch sees no CUDA device; --device cpu tries the script without one")
    return options


def main():
    options = parse_arguments()
    device = torch.device(options.device)
    if device.type == "cuda":
        torch.cuda.set_device(device if device.index is not None else 0)
    torch.set_float32_matmul_precision("high")
    failed = False
    for i, name in enumerate(options.models):
        shape = SHAPES[name]
        if options.heads:
            shape = dataclasses.replace(shape, heads=options.heads)
        batch = shape.batch
        if options.batch:
            batch = options.batch[i if len(options.batch) > 1 else 0]
        line = run(name, shape, batch, options, device)
        print(json.dumps(line), flush=True)
        failed = failed or "error" in line
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
