"""The models. Each maps (inputs, targets) to a scalar loss; to train your own, add it to MODELS."""
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any, Callable

import torch.nn.functional as F  # noqa: N812
from torch import nn


class Linear(nn.Module):
    """1000 -> 10 regression with mean squared error: inputs (batch, 1000), targets (batch, 10), both float."""

    unit = "samples"
    units_per_sample = 1

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1000, 10, bias=False)

    def forward(self, inputs: Any, targets: Any) -> Any:
        """Mean squared error."""
        return F.mse_loss(self.layer(inputs), targets)


class GPT(nn.Module):
    """A small causal transformer: inputs and targets (batch, length) int64 tokens, loss in nats."""

    unit = "tok"

    def __init__(self, layers: int, width: int, heads: int, length: int, vocab: int) -> None:
        super().__init__()
        self.units_per_sample = length
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Parameter(0.02 * self.tokens.weight.new_ones(length, width).normal_())
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, inputs: Any, targets: Any) -> Any:
        """Mean cross-entropy of the next token."""
        x = self.tokens(inputs) + self.positions[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Block(nn.Module):
    """Attention and MLP, each behind a LayerNorm and added to its input: (batch, length, width) -> the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        """Pre-norm residual block."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, width / heads)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


MODELS: dict[str, Callable[[], Any]] = {
    "linear": Linear,
    "gpt-tiny": lambda: GPT(layers=4, width=128, heads=4, length=128, vocab=256),
}
