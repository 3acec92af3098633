"""Synthetic data without state: sample i is a function of (seed, i); step, rank and world size choose the samples.

Nothing has to be restored or skipped after a restart.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Tuple

import torch

Sample = Callable[[Any], Tuple[Any, Any]]  # takes a torch.Generator

NOISE = 0.1  # standard deviation of the regression's noise: the best mean squared error is NOISE ** 2
VOCAB, LENGTH, STRIDE, JUMP = 256, 128, 37, 0.1


def token_entropy() -> float:
    """The lowest loss on the tokens, in nats: the entropy of one step of their chain. Guessing costs ln 256 = 5.55."""
    likely = 1 - JUMP + JUMP / VOCAB
    other = JUMP / VOCAB
    return -likely * math.log(likely) - (VOCAB - 1) * other * math.log(other)


def token_sample(generator: Any) -> tuple[Any, Any]:
    """(128,) inputs and (128,) targets: a token is its predecessor + 37 mod 256, or with probability 0.1 any token."""
    steps = torch.randint(VOCAB, (LENGTH + 1,), generator=generator)
    follows = torch.rand(LENGTH, generator=generator) >= JUMP
    steps[1:][follows] = STRIDE
    tokens = steps.cumsum(0) % VOCAB
    return tokens[:-1], tokens[1:]


def regression_sample(seed: int) -> Sample:
    """Draws (1000,) inputs and (10,) targets: a fixed random matrix times the inputs, plus noise."""
    weight = torch.randn(1000, 10, generator=torch.Generator().manual_seed(seed)) / math.sqrt(1000)

    def sample(generator: Any) -> tuple[Any, Any]:
        inputs = torch.randn(1000, generator=generator)
        return inputs, inputs @ weight + NOISE * torch.randn(10, generator=generator)

    return sample


SAMPLES: dict[str, Callable[[int], Sample]] = {"linear": regression_sample, "gpt-tiny": lambda _seed: token_sample}


class Synthetic:
    """Batches for `model`, `batch` samples per rank."""

    def __init__(self, model: str, seed: int, batch: int) -> None:
        self._sample = SAMPLES[model](seed)
        self._seed = seed
        self._batch = batch
        self._generator = torch.Generator()

    def indices(self, step: int, rank: int, world_size: int) -> list[int]:
        """Numbers of the samples of one rank's batch; the ranks' batches follow one another without gap or overlap."""
        first = (step * world_size + rank) * self._batch
        return list(range(first, first + self._batch))

    def batch(self, step: int, rank: int, world_size: int) -> tuple[Any, Any]:
        """Inputs and targets of one step on one rank, stacked along dimension 0, on the CPU."""
        samples = []
        for index in self.indices(step, rank, world_size):
            # The CPU generator uses the low 32 bits of its seed.
            self._generator.manual_seed((self._seed * 0x9E3779B1 + index) % 2**32)
            samples.append(self._sample(self._generator))
        inputs, targets = zip(*samples)
        return torch.stack(inputs), torch.stack(targets)
