"""The words of a subtraction, and the verdict of --test-only, for people who never saw sinfo."""

import ast
import inspect
from datetime import datetime, timedelta

from console.causes import MEANINGS, meanings
from console.verdicts import verdict_words
from jobs.sbatch import Verdict
from jobs.slurm import availability, rules
from jobs.slurm.availability import GpuCount


def test_every_cause_that_availability_can_name_has_a_meaning() -> None:
    named = {cause for _, cause in availability._UNAVAILABLE_FLAGS}
    for function in (availability.unavailable_cause, availability._carried, rules._cause):
        tree = ast.parse(inspect.getsource(function))
        returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value]
        constants = [node.value for value in returned for node in ast.walk(value) if isinstance(node, ast.Constant)]
        named |= {text for text in constants if isinstance(text, str) and (text.islower() or " " in text)}
    assert {"no CPU", "no memory", "draining", "no access", "in your reservation"} <= named
    assert named <= set(MEANINGS)


def test_only_what_occurs_is_explained_and_the_largest_first() -> None:
    counts = [
        GpuCount("a100", 8, 0, {"down": 1, "drained": 0}, {"no CPU": 2}, 5),
        GpuCount("h100", 8, 0, {"down": 4}, {}, 4),
    ]
    assert [cause for cause, _ in meanings(counts)] == ["down", "no CPU"]


def test_a_verdict_tells_when_and_where_and_no_job_id() -> None:
    soon = Verdict(datetime.now().astimezone(), 4, "gpu[01-02]", "a100", "sbatch: Job 21 to start at …")
    assert verdict_words(soon) == "Slurm expects it to start at once on gpu[01-02] in a100. Nothing was submitted."
    later = Verdict(datetime.now().astimezone() + timedelta(days=2), 4, "gpu01", None, "sbatch: Job 21 to start at …")
    expected = f"{later.start:%b %d %H:%M}"
    assert verdict_words(later) == f"Slurm expects it to start at {expected} on gpu01. Nothing was submitted."


def test_a_verdict_that_is_not_understood_is_given_as_slurm_says_it() -> None:
    assert verdict_words(Verdict(None, None, None, None, "sbatch: something new")) == "sbatch: something new"
