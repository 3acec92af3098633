"""The largest block of GPUs that one job could take at this moment: as many on each of its nodes, as DDP wants it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.slurm.records import Partition


@dataclass(frozen=True, slots=True)
class Block:
    """`nodes` times `gpus_per_node` GPUs in one partition."""

    nodes: int
    gpus_per_node: int
    partition: str

    @property
    def gpus(self) -> int:
        """All of them."""
        return self.nodes * self.gpus_per_node


def largest_block(usable: Iterable[int], partition: Partition) -> Block | None:
    """The block with most GPUs, and of these the one on fewest nodes; MaxNodes of the partition bounds it.

    `usable` are the usable GPUs of one type, by node of the partition.
    """
    best: Block | None = None
    ordered = sorted((number for number in usable if number > 0), reverse=True)
    for position, number in enumerate(ordered, 1):
        if partition.max_nodes is not None and position > partition.max_nodes:
            break
        block = Block(position, number, partition.name)
        if best is None or block.gpus > best.gpus:
            best = block
    return best


def larger(first: Block | None, second: Block | None) -> Block | None:
    """The one with more GPUs; the first of two equal ones."""
    if first is None or second is None:
        return first or second
    return second if second.gpus > first.gpus else first
