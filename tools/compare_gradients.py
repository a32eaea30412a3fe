#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Twill's loss and gradients of one batch with those of PyTorch on the same weights.

Optional: no test needs it. It wants torch, and a folder that Twill has written:

    weights.safetensors     every parameter under Twill's name, f32
    gradients.safetensors   the same names, f32: of the mean loss, before clipping
    batch.safetensors       tokens and targets (B, T), i32; a target of -1 does not count
    loss.json               {"loss": x}
    config.json             the keys of [model], ffn.width and ffn.activation nested or flat

    tools/compare_gradients.py DIR [--truth float32|float64] [--peer autocast|bfloat16] [--limit 2]

The truth is computed in f32 without TF32, or in f64. PyTorch in bf16 computes the same batch in one
pass and is what we are measured against: under autocast, or with --peer bfloat16 with parameters and
residual stream rounded to bf16 as well. For every parameter, with Frobenius norms:

    ours = |g - truth| / |truth|    torch = |g_bf16 - truth| / |truth|    ratio = ours / torch

The mean loss is a single number, whose error in bf16 may be small by luck: torch's error of it counts
as at least the standard error that its errors per token give, rms / sqrt(tokens).

The exit status is 1 when a ratio, of a gradient or of the loss, is above --limit, when a number is
not finite, or when names or shapes differ; 2 when the folder cannot be read.
"""
import argparse
import contextlib
import json
import math
import os
import struct
import sys

import torch
import torch.nn.functional as F

GATED = ("swiglu", "geglu", "geglu-tanh")
PLAIN = ("gelu", "gelu-tanh", "relu2")


class FolderError(Exception):
    """The folder is not what it should be."""


# --- reading -------------------------------------------------------------------------------------

SAFETENSORS_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
}


def read_safetensors_plainly(path):
    """Eight bytes of header length, little-endian; the header, JSON; the data."""
    with open(path, "rb") as file:
        front = file.read(8)
        if len(front) < 8:
            raise FolderError(f"{path}: too short for a safetensors file")
        (length,) = struct.unpack("<Q", front)
        if length > os.path.getsize(path) - 8:
            raise FolderError(f"{path}: a header of {length} bytes does not fit the file")
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in SAFETENSORS_TYPES:
            raise FolderError(f"{path}: tensor '{name}' has type {entry['dtype']}")
        dtype, (begin, end) = SAFETENSORS_TYPES[entry["dtype"]], entry["data_offsets"]
        count = math.prod(entry["shape"])
        if not 0 <= begin <= end <= len(data) or end - begin != count * dtype.itemsize:
            raise FolderError(f"{path}: tensor '{name}' does not fit its bytes {begin} to {end}")
        flat = torch.frombuffer(data[begin:end], dtype=dtype) if count else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def read_safetensors(path):
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        return read_safetensors_plainly(path)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise FolderError(f"{path}: {error}") from error


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Config:
    """Twill's [model], with what is derived filled in."""

    def __init__(self, keys):
        keys = keys.get("model", keys)
        ffn = keys.get("ffn", {})
        self.layers = keys["layers"]
        self.width = keys["width"]
        self.heads = keys["heads"]
        self.kv_heads = keys.get("kv_heads") or self.heads
        self.head_dim = self.width // self.heads
        self.vocab = keys["vocab"]
        self.context = keys["context"]
        self.activation = self._ffn(keys, ffn, "activation", "gelu-tanh")
        self.gated = self.activation in GATED
        self.ffn_width = self._ffn(keys, ffn, "width", 0) or self._derived_ffn_width()
        self.norm = keys.get("norm", "layer")
        self.norm_eps = keys.get("norm_eps", 1e-5)
        self.positions = keys.get("positions", "learned")
        self.rotary_theta = keys.get("rotary_theta", 10000.0)
        self.tied_head = keys.get("tied_head", True)
        self.bias = keys.get("bias", True)
        self.family = keys.get("family", "gpt")
        self._check(keys)

    @staticmethod
    def _ffn(keys, ffn, name, default):
        return ffn.get(name, keys.get(f"ffn_{name}", keys.get(f"ffn.{name}", default)))

    def _derived_ffn_width(self):
        return -(-(8 * self.width // 3) // 64) * 64 if self.gated else 4 * self.width

    def _check(self, keys):
        known = {
            "activation": (self.activation, GATED + PLAIN),
            "norm": (self.norm, ("layer", "rms")),
            "positions": (self.positions, ("learned", "rotary")),
        }
        for name, (value, choices) in known.items():
            if value not in choices:
                raise FolderError(f"config.json: {name} = '{value}', expected {', '.join(choices)}")
        if keys.get("dropout"):
            raise FolderError("config.json: with dropout no gradient can be compared")

    def parameters(self):
        """Name and shape of every parameter."""
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim
        ffn_in = self.ffn_width * (2 if self.gated else 1)
        shapes = {"embedding.tokens.weight": (self.vocab, self.width)}
        if self.positions == "learned":
            shapes["embedding.positions.weight"] = (self.context, self.width)
        for layer in range(self.layers):
            block = f"blocks.{layer}."
            shapes |= self._norm(block + "attention_norm")
            shapes |= self._linear(block + "attention.qkv", qkv, self.width)
            shapes |= self._linear(block + "attention.output", self.width, self.heads * self.head_dim)
            shapes |= self._norm(block + "ffn_norm")
            shapes |= self._linear(block + "ffn.input", ffn_in, self.width)
            shapes |= self._linear(block + "ffn.output", self.width, self.ffn_width)
        shapes |= self._norm("final_norm")
        if not self.tied_head:
            shapes["head.weight"] = (self.vocab, self.width)
        return shapes

    def _norm(self, name):
        shapes = {name + ".weight": (self.width,)}
        if self.norm == "layer" and self.bias:
            shapes[name + ".bias"] = (self.width,)
        return shapes

    def _linear(self, name, out, in_):
        shapes = {name + ".weight": (out, in_)}
        if self.bias:
            shapes[name + ".bias"] = (out,)
        return shapes


class Dump:
    """What Twill has written."""

    def __init__(self, folder):
        path = lambda name: os.path.join(folder, name)
        self.config = Config(read_json(path("config.json")))
        self.loss = float(read_json(path("loss.json"))["loss"])
        self.weights = read_safetensors(path("weights.safetensors"))
        self.gradients = read_safetensors(path("gradients.safetensors"))
        batch = read_safetensors(path("batch.safetensors"))
        self.tokens, self.targets = batch["tokens"].long(), batch["targets"].long()
        if self.tokens.dim() != 2 or self.tokens.shape != self.targets.shape:
            raise FolderError(f"batch.safetensors: tokens {tuple(self.tokens.shape)} and targets "
                              f"{tuple(self.targets.shape)}, expected both (B, T)")
        if not (self.targets >= 0).any():
            raise FolderError("batch.safetensors: no target counts")

    def differences(self):
        """A line for every name or shape that is not the config's."""
        expected = self.config.parameters()
        lines = []
        for file, tensors in (("weights", self.weights), ("gradients", self.gradients)):
            for name in sorted(expected.keys() | tensors.keys()):
                if name not in tensors:
                    lines.append(f"{file}: no '{name}'")
                elif name not in expected:
                    lines.append(f"{file}: '{name}' is not a parameter of this model")
                elif tuple(tensors[name].shape) != expected[name]:
                    lines.append(f"{file}: '{name}' has shape {tuple(tensors[name].shape)}, "
                                 f"expected {expected[name]}")
        return lines


# --- the model, from Twill's tensors -------------------------------------------------------------


def plain_attention(q, k, v):
    """Causal attention by its definition: no kernel that might use TF32 inside."""
    time = q.shape[2]
    hidden = torch.ones(time, time, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    return torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1) @ v


def fused_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def activate(kind, x):
    if kind == "relu2":
        positive = F.relu(x)
        return positive * positive
    if kind == "swiglu":
        return F.silu(x)
    return F.gelu(x, approximate="tanh" if kind.endswith("tanh") else "none")


class Model:
    """The loss of every token as a function of the parameters, in their type."""

    def __init__(self, config, weights, attention):
        self.config = config
        self.weights = weights
        self.attention = attention

    def losses(self, tokens, targets):
        c, w = self.config, self.weights
        x = F.embedding(tokens, w["embedding.tokens.weight"])
        if c.positions == "learned":
            x = x + w["embedding.positions.weight"][: tokens.shape[1]]
        for layer in range(c.layers):
            block = f"blocks.{layer}."
            x = x + self._attend(block + "attention", self._norm(block + "attention_norm", x))
            x = x + self._ffn(block + "ffn", self._norm(block + "ffn_norm", x))
        head = w["embedding.tokens.weight" if c.tied_head else "head.weight"]
        logits = F.linear(self._norm("final_norm", x), head)
        if logits.dtype != torch.float64:
            logits = logits.float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1,
                               reduction="none")

    def _linear(self, name, x):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def _norm(self, name, x):
        weight, bias = self.weights[name + ".weight"], self.weights.get(name + ".bias")
        if self.config.norm == "layer":
            return F.layer_norm(x, weight.shape, weight, bias, self.config.norm_eps)
        wide = x if x.dtype == torch.float64 else x.float()
        rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.config.norm_eps)
        return (wide * rstd * weight).to(x.dtype)

    def _attend(self, name, x):
        c = self.config
        batch, time, _ = x.shape
        qkv = self._linear(name + ".qkv", x).view(batch, time, -1, c.head_dim).transpose(1, 2)
        q, k, v = qkv.split((c.heads, c.kv_heads, c.kv_heads), dim=1)
        if c.positions == "rotary":
            q, k = self._rotate(q), self._rotate(k)
        if c.kv_heads != c.heads:
            k, v = (part.repeat_interleave(c.heads // c.kv_heads, dim=1) for part in (k, v))
        y = self.attention(q, k, v)
        return self._linear(name + ".output", y.transpose(1, 2).reshape(batch, time, -1))

    def _rotate(self, x):
        """(u, v) -> (u cos a - v sin a, u sin a + v cos a) of the pairs (i, i + D/2)."""
        time, dim = x.shape[-2:]
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        pairs = torch.arange(0, dim, 2, dtype=torch.float64, device=x.device) / dim
        positions = torch.arange(time, dtype=torch.float64, device=x.device)
        angles = torch.outer(positions, self.config.rotary_theta**-pairs)
        cos, sin = angles.cos().to(wide), angles.sin().to(wide)
        u, v = x.to(wide).chunk(2, dim=-1)
        return torch.cat((u * cos - v * sin, u * sin + v * cos), dim=-1).to(x.dtype)

    def _ffn(self, name, x):
        y = self._linear(name + ".input", x)
        if self.config.gated:
            value, gate = y.chunk(2, dim=-1)
            y = value * activate(self.config.activation, gate)
        else:
            y = activate(self.config.activation, y)
        return self._linear(name + ".output", y)


# --- computing -----------------------------------------------------------------------------------


def gradients_of(dump, device, dtype, sequences, autocast=False, rounded=False):
    """Losses of all tokens (f64) and the gradients of their mean, `sequences` at a time.

    `rounded`: every parameter is rounded to bf16 before it is used, and so is all that follows.
    """
    leaves = {name: tensor.to(device, dtype, copy=True).requires_grad_()
              for name, tensor in dump.weights.items()}
    counted = int((dump.targets >= 0).sum())
    fused = autocast or rounded
    precision = contextlib.nullcontext()
    if autocast:
        precision = torch.autocast(device.type, dtype=torch.bfloat16)
    losses = []
    for begin in range(0, len(dump.tokens), sequences):
        rows = slice(begin, begin + sequences)
        used = {name: leaf.bfloat16() for name, leaf in leaves.items()} if rounded else leaves
        model = Model(dump.config, used, fused_attention if fused else plain_attention)
        with precision:
            piece = model.losses(dump.tokens[rows].to(device), dump.targets[rows].to(device))
        (piece.sum() / counted).backward()
        losses.append(piece.detach().double())
    return torch.cat(losses), {name: leaf.grad for name, leaf in leaves.items()}


def norm(x):
    return torch.linalg.vector_norm(x, dtype=torch.float64).item()


def relative_error(gradient, truth):
    """|gradient - truth| / |truth|; where the truth is zero, 0 if that was met and else infinity."""
    difference = norm(gradient.to(truth.device).double() - truth.double())
    scale = norm(truth)
    if scale == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / scale


def ratio_of(ours, torchs):
    if ours == 0.0 and torchs == 0.0:
        return 0.0
    return ours / torchs if torchs > 0.0 else math.inf


def compare(dump, options, device):
    """Prints the comparison and returns what failed, a line each."""
    truth_type = getattr(torch, options.truth)
    truth_losses, truth = gradients_of(dump, device, truth_type, options.truth_sequences)
    peer_losses, peer = gradients_of(dump, device, torch.float32, len(dump.tokens),
                                     autocast=options.peer == "autocast",
                                     rounded=options.peer == "bfloat16")
    failures = []

    width = max(map(len, truth))
    print(f"{'parameter':{width}}  {'|truth|':>9}  {'ours':>9}  {'torch':>9}  {'ratio':>7}")
    worst_name, worst = "", -1.0
    for name in dump.config.parameters():
        ours = relative_error(dump.gradients[name], truth[name])
        torchs = relative_error(peer[name], truth[name])
        ratio = ratio_of(ours, torchs)
        failed = not ratio <= options.limit  # NaN fails
        print(f"{name:{width}}  {norm(truth[name]):9.3e}  {ours:9.3e}  {torchs:9.3e}  {ratio:7.3g}"
              f"{'  above the limit' if failed else ''}")
        if failed:
            failures.append(f"{name}: ratio {ratio:.3g}")
        if not ratio <= worst and not math.isnan(worst):
            worst_name, worst = name, ratio

    failures += compare_loss(dump, truth_losses, peer_losses, options)
    print(f"worst ratio  {worst:.3g}  ({worst_name}), limit {options.limit:g}")
    return failures


def compare_loss(dump, truth_losses, peer_losses, options):
    counted = int((dump.targets >= 0).sum())
    errors = peer_losses - truth_losses  # zero where a target does not count
    true_loss = truth_losses.sum().item() / counted
    own = abs(errors.sum().item()) / counted
    by_chance = math.sqrt(errors.square().sum().item()) / counted  # rms / sqrt(counted)
    ours = abs(dump.loss - true_loss)
    ratio = ratio_of(ours, max(own, by_chance))
    print(f"loss         ours {dump.loss:.7f}, truth {true_loss:.7f}")
    print(f"             error {ours:.3e}, torch {own:.3e} (by chance {by_chance:.3e}), "
          f"ratio {ratio:.3g}")
    return [] if ratio <= options.limit else [f"loss: ratio {ratio:.3g}"]


def refuse_tf32():
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--truth", choices=["float32", "float64"], default="float32")
    parser.add_argument("--truth-sequences", type=int, default=1,
                        help="sequences at a time when the truth is computed; default 1")
    parser.add_argument("--peer", choices=["autocast", "bfloat16"], default="autocast")
    parser.add_argument("--limit", type=float, default=2.0, help="largest ratio; default 2")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if options.truth_sequences < 1:
        parser.error("--truth-sequences must be positive")

    try:
        dump = Dump(options.folder)
    except (FolderError, OSError, KeyError, ValueError) as error:
        print(f"compare_gradients: {options.folder}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    differences = dump.differences()
    if differences:
        print("\n".join(differences), file=sys.stderr)
        return 1

    refuse_tf32()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    print(f"{options.folder}: {dump.config.family}, {dump.config.layers} layers of width "
          f"{dump.config.width}, batch {tuple(dump.tokens.shape)}; torch {torch.__version__} on "
          f"{name}, truth {options.truth}, peer {options.peer}")
    failures = compare(dump, options, device)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    print(f"compare_gradients: {len(dump.weights)} parameters, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
