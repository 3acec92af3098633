"""sbatch's answers: job ids, verdicts of --test-only, refusals. Texts are those of the releases named."""

from __future__ import annotations

from datetime import datetime

import pytest

from jobs.sbatch import SubmitRefused, parse_job_id, parse_verdict, refusal
from jobs.slurm.run import Answer, SlurmError


def answer(stdout: str = "", stderr: str = "", code: int = 1) -> Answer:
    return Answer(("sbatch",), code, stdout.encode(), stderr.encode(), 0.1)


@pytest.mark.parametrize(
    ("text", "expected"), [("4711\n", (4711, None)), ("4711;big\n", (4711, "big")), ("note\n12;c-1\n", (12, "c-1"))]
)
def test_job_ids_with_and_without_a_cluster(text: str, expected: tuple[int, str | None]) -> None:
    assert parse_job_id(answer(text, code=0)) == expected


@pytest.mark.parametrize("text", ["", "Submitted batch job x", "12x", ";c"])
def test_an_answer_without_a_job_id_is_said(text: str) -> None:
    with pytest.raises(SlurmError, match="named no job id"):
        parse_job_id(answer(text, code=0))


EPOCH = int(datetime(2026, 12, 2, 4, 57, 37).timestamp())


@pytest.mark.parametrize(
    "when",
    ["2026-12-02T04:57:37", "2026-12-02T04:57:37 a", "2026-12-02T04:57:37 on cluster c1 a", f"{EPOCH}"],
    ids=["22.05", "26.05", "25.05 with cluster", "epoch seconds"],
)
def test_verdicts_of_several_releases(when: str) -> None:
    where = "using 2 processors on nodes gpu[01-02] in partition a100"
    verdict = parse_verdict(f"sbatch: Job 21 to start at {when} {where}\nsbatch:   Preempts: 1,2\n")
    assert verdict.start == datetime(2026, 12, 2, 4, 57, 37).astimezone()
    assert (verdict.processors, verdict.nodes, verdict.partition) == (2, "gpu[01-02]", "a100")
    assert "2026-12-02T04:57:37" in verdict.text


def test_an_unknown_verdict_keeps_its_text() -> None:
    verdict = parse_verdict("sbatch: something new\n")
    assert (verdict.start, verdict.text) == (None, "sbatch: something new")
    assert parse_verdict("sbatch: Job 1 to start at N/A using 2 processors on nodes n1 in partition p").start is None


UNAVAILABLE = "Requested node configuration is not available"
NO_PARTITION = "Invalid partition name specified"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([f"allocation failure: {UNAVAILABLE}"], UNAVAILABLE),
        (
            [
                "sbatch: error: invalid partition specified: nope",
                f"sbatch: error: Batch job submission failed: {NO_PARTITION}",
            ],
            NO_PARTITION,
        ),
        (
            ["sbatch: unrecognized option '--x'", 'Try "sbatch --help" for more information'],
            "unrecognized option '--x'",
        ),
        ([], "sbatch ended with code 1 and said nothing"),
    ],
)
def test_refusals_keep_every_line_and_say_the_last_error(lines: list[str], reason: str) -> None:
    error = refusal(answer(stderr="\n".join(lines)))
    assert isinstance(error, SubmitRefused)
    assert str(error) == f"Slurm refused the job: {reason}."
    assert error.lines == tuple(lines)


def test_a_controller_that_does_not_answer_is_no_refusal() -> None:
    text = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n"
    error = refusal(answer(stderr=text))
    assert not isinstance(error, SubmitRefused)
    assert str(error) == "Slurm could not be asked: Unable to contact slurm controller (connect failure)."
