"""GRES, TRES and memory strings; the grammars are those of gres.conf(5), scontrol(1) and squeue(1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.tres import Gres, gpus_by_type, parse_gres, parse_memory, parse_tres, tres_gpus

GRES = [
    ("", ()),
    ("(null)", ()),
    ("N/A", ()),
    ("gpu", (Gres("gpu", None, 1),)),
    ("gpu:4", (Gres("gpu", None, 4),)),
    ("gpu:0", (Gres("gpu", None, 0),)),
    ("gpu:tesla", (Gres("gpu", "tesla", 1),)),
    ("gpu:a100:4", (Gres("gpu", "a100", 4),)),
    ("gpu:3090:4", (Gres("gpu", "3090", 4),)),
    ("gpu:a100:4(S:0-1)", (Gres("gpu", "a100", 4),)),
    ("gpu:a100:2(S:0),gpu:a100:2(S:1)", (Gres("gpu", "a100", 2), Gres("gpu", "a100", 2))),
    ("gpu:h100:8(IDX:0,3-5,7)", (Gres("gpu", "h100", 8),)),
    ("gpu:a100:0(IDX:N/A)", (Gres("gpu", "a100", 0),)),
    ("gpu:(null):4(IDX:0-3)", (Gres("gpu", None, 4),)),
    ("gpu:(null):0(IDX:N/A)", (Gres("gpu", None, 0),)),
    ("gpu:nvidia_a100_1g.5gb:21(S:0-1)", (Gres("gpu", "nvidia_a100_1g.5gb", 21),)),
    ("gpu:tesla_v100-sxm3-32gb:16", (Gres("gpu", "tesla_v100-sxm3-32gb", 16),)),
    ("gpfs:ess:no_consume:1", (Gres("gpfs", "ess", 1),)),
    ("gpu:tesla:no_consume:4", (Gres("gpu", "tesla", 4),)),
    ("craynetwork:2K", (Gres("craynetwork", None, 2048),)),
    ("shard:a100:6(4/8,2/8)", (Gres("shard", "a100", 6, busy=2),)),
    ("gpu:a100:1(IDX:0),shard:a100:4(0/4,4/4)", (Gres("gpu", "a100", 1), Gres("shard", "a100", 4, busy=1))),
    ("gpu:a100:2(IDX:0,2),gpu:h100:1(IDX:3)", (Gres("gpu", "a100", 2), Gres("gpu", "h100", 1))),
    ("gres:gpu:2", (Gres("gpu", None, 2),)),
    ("gres:gpu:a100:2", (Gres("gpu", "a100", 2),)),
    ("gres/gpu:a100:2", (Gres("gpu", "a100", 2),)),
    ("gres/gpu=4", (Gres("gpu", None, 4),)),
    ("gres/gpu:a100=4", (Gres("gpu", "a100", 4),)),
    ("gres:gpu:a100:2,gres:gpu:h100:1", (Gres("gpu", "a100", 2), Gres("gpu", "h100", 1))),
    ("gpu:a100:8(IDX:0,1,2", (Gres("gpu", "a100", 8),)),
]


@pytest.mark.parametrize(("text", "entries"), GRES)
def test_a_gres_string_is_read_into_its_entries(text: str, entries: tuple[Gres, ...]) -> None:
    assert parse_gres(text) == entries


def test_an_entry_that_cannot_be_read_does_not_hide_the_others() -> None:
    assert parse_gres("gpu:a:b:c:4,:2,gpu:a100:3") == (Gres("gpu", "a100", 3),)


def test_gpus_are_summed_by_type_and_other_resources_left_out() -> None:
    text = "gpu:a100:2(S:0),gpu:a100:2(S:1),gpu:h100:1,shard:a100:16,gpumem:80,mps:400"
    assert gpus_by_type(parse_gres(text)) == {"a100": 4, "h100": 1}


TRES_GPUS = [
    ("cpu=256,mem=2000G,node=2,billing=256,gres/gpu=16", (16, None)),
    ("cpu=4,gres/gpu=4,gres/gpu:a100=4", (4, "a100")),
    ("gres/gpu:a100=4,cpu=4,gres/gpu=4", (4, "a100")),
    ("gres/gpu:a100=2,gres/gpu:h100=1", (3, None)),
    ("gres/gpu=3,gres/gpu:a100=2,gres/gpu:h100=1", (3, None)),
    ("gres/gpu=0", (0, None)),
    ("cpu=4,mem=16G,node=1", (None, None)),
    ("gres/gpumem=80G,gres/gpuutil=97", (None, None)),
    ("", (None, None)),
    ("N/A", (None, None)),
    ("(null)", (None, None)),
    ("gres/gpu=²", (None, None)),
]


@pytest.mark.parametrize(("text", "gpus"), TRES_GPUS)
def test_gpus_of_a_tres_string_are_the_total_or_the_sum_of_types_and_unknown_when_untracked(
    text: str, gpus: tuple[int | None, str | None]
) -> None:
    assert tres_gpus(parse_tres(text)) == gpus


def test_tres_values_stay_text() -> None:
    text = "cpu=4,mem=62.50G,license/matlab@server=2,gres/gpu:a100=1"
    assert parse_tres(text) == {"cpu": "4", "mem": "62.50G", "license/matlab@server": "2", "gres/gpu:a100": "1"}


MEMORY = [
    ("512000", 512000), ("4000M", 4000), ("4000Mc", 4000), ("2Gn", 2048), ("62.50G", 64000), ("2T", 2 * 2**20),
    ("1P", 2**30), ("2048K", 2), ("0", 0), ("N/A", None), ("UNLIMITED", None), ("", None), ("8G?", None),
    ("-1", None), ("\u0663", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "mebibytes"), MEMORY)
def test_memory_is_read_in_mebibytes(text: str, mebibytes: int | None) -> None:
    assert parse_memory(text) == mebibytes


HOSTILE = st.one_of(st.text(), st.text("gpu:,()=/0123456789KNA²\0no_consume"), st.from_regex(r"gpu:[0-9]{1,6000}"))


@given(HOSTILE)
def test_no_text_makes_the_parsers_raise(text: str) -> None:
    for entry in parse_gres(text):
        assert entry.count >= 0
    count, _ = tres_gpus(parse_tres(text))
    assert count is None or count >= 0
    assert (parse_memory(text) or 0) >= 0


def test_a_number_of_thousands_of_digits_is_not_a_count() -> None:
    digits = "9" * 5000
    assert parse_gres(f"gpu:{digits}") == (Gres("gpu", digits, 1),)
    assert parse_memory(digits) is None
    assert tres_gpus({"gres/gpu": digits}) == (None, None)
