"""Reading a cluster: commands -> records -> the next Snapshot."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from jobs.slurm import commands, parse
from jobs.slurm.ask_limits import LIMITS_EVERY, ask_limits
from jobs.slurm.clock import wall_clock
from jobs.slurm.rate_limit import calls_per_minute, was_limited
from jobs.slurm.records import Job, Partition, Reservation
from jobs.slurm.run import CommandFailed, CommandMissing, Runner, SlurmError, is_unreachable
from jobs.slurm.snapshot import EMPTY, Part, Snapshot

T = TypeVar("T")
Parser = Callable[[str], tuple[tuple[T, ...], int]]

_NO_NODES = "No nodes in the system"
_NO_PARTITIONS = "No partitions in the system"
_NO_RESERVATIONS = "No reservations in the system"
RESERVATIONS_EVERY = 60.0
"""Seconds."""
_VERSION = re.compile(r"(\d+)\.(\d+)")


class Cluster:
    """One cluster, asked through a runner. Holds the newest snapshot; methods block and are for worker threads."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.snapshot = EMPTY
        self._config: parse.Record = {}
        self._limits_at: float | None = None
        self._down = ""

    def refresh(self, *, jobs: bool = True, nodes: bool = True, mine: bool = False, limits: bool = False) -> Snapshot:
        """Ask for jobs, for nodes with partitions, or both. What fails keeps its last records and gains a problem.

        `limits` asks for the limits on this person too, unless that was done less than LIMITS_EVERY seconds ago.

        Once Slurm turns out to be out of reach, the rest is not asked.
        """
        self._down = ""
        self._identify()
        old = self.snapshot
        fresh_jobs = self._read_jobs(old.jobs, mine) if jobs else old.jobs
        fresh_nodes, fresh_partitions, fresh_reservations = old.nodes, old.partitions, old.reservations
        if nodes:
            fresh_nodes = self._read(old.nodes, commands.show_nodes(), parse.parse_nodes, _NO_NODES)
            fresh_partitions = self._read(
                old.partitions, commands.show_partitions(), self._parse_partitions, _NO_PARTITIONS
            )
            fresh_reservations = self._read_reservations(old.reservations)
        if limits:
            self._read_limits()
        self.snapshot = dataclasses.replace(
            self.snapshot,
            number=old.number + 1,
            jobs=fresh_jobs,
            nodes=fresh_nodes,
            partitions=fresh_partitions,
            reservations=fresh_reservations,
        )
        return self.snapshot

    def job(self, job_id: str) -> Job | None:
        """One job, wherever Slurm still knows it: the queue, then accounting. None when it is forgotten.

        Raises SlurmError when Slurm cannot be asked.
        """
        found = self.find_jobs([job_id])
        return found[0] if found else None

    def find_jobs(self, job_ids: Sequence[str]) -> tuple[Job, ...]:
        """Jobs by id; an array's id brings all its tasks. Raises SlurmError when Slurm cannot be asked."""
        self._identify()
        fields = self._job_fields()
        answer = self.runner.run(commands.squeue(fields, job_ids=job_ids, all_states=True))
        if answer.returncode == 0:
            jobs, _ = parse.parse_jobs(answer.text, fields)
            if jobs:
                return jobs
        elif "Invalid job id" not in answer.error_text:
            raise CommandFailed(answer)
        return self._from_accounting(job_ids)

    def _from_accounting(self, job_ids: Sequence[str]) -> tuple[Job, ...]:
        try:
            answer = self.runner.run(commands.sacct_job(",".join(job_ids)))
        except CommandMissing:
            return ()
        return parse.parse_sacct(answer.text)[0] if answer.returncode == 0 else ()

    def _identify(self) -> None:
        """Learn the cluster's name, release and defaults, once."""
        if self.snapshot.cluster:
            return
        try:
            config = self._config = parse.parse_config(self.runner.check(commands.show_config()).text)
        except SlurmError as error:
            self._note_down(error)
            return
        self.snapshot = dataclasses.replace(
            self.snapshot,
            cluster=config.get("ClusterName", ""),
            slurm_version=config.get("SLURM_VERSION", ""),
            select_parameters=config.get("SelectTypeParameters", ""),
            viewer=self.runner.viewer,
            rate_limit=calls_per_minute(config.get("SlurmctldParameters", "")),
        )

    def _job_fields(self) -> tuple[str, ...]:
        return commands.job_fields(version_tuple(self.snapshot.slurm_version))

    def _read_jobs(self, old: Part[Job], mine: bool) -> Part[Job]:
        fields = self._job_fields()
        return self._read(old, commands.squeue(fields, me=mine), lambda text: parse.parse_jobs(text, fields))

    def _read_reservations(self, old: Part[Reservation]) -> Part[Reservation]:
        """Reservations change seldom: they are asked for once in RESERVATIONS_EVERY seconds."""
        if old.taken_at is not None and not old.problem and wall_clock() - old.taken_at < RESERVATIONS_EVERY:
            return old
        return self._read(old, commands.show_reservations(), parse.parse_reservations, _NO_RESERVATIONS)

    def _read_limits(self) -> None:
        """Where accounting is kept by slurmdbd, learn this person's accounts, QOS and limits."""
        viewer, now = self.snapshot.viewer, wall_clock()
        recent = self._limits_at is not None and now - self._limits_at < LIMITS_EVERY
        if self._down or viewer is None or recent or "slurmdbd" not in self._config.get("AccountingStorageType", ""):
            return
        self._limits_at = now
        try:
            limits = ask_limits(self.runner, self._config, viewer)
        except SlurmError as error:
            self._note_down(error)
            self.snapshot = dataclasses.replace(self.snapshot, limits=None, limits_problem=str(error))
            return
        lineages = limits.lineages if (version_tuple(self.snapshot.slurm_version) or (0, 0)) >= (23, 11) else {}
        known = dataclasses.replace(viewer, accounts=limits.accounts, qos=limits.qos, lineages=lineages)
        self.snapshot = dataclasses.replace(self.snapshot, viewer=known, limits=limits, limits_problem="")

    def _note_down(self, error: SlurmError) -> None:
        if is_unreachable(error):
            self._down = str(error)

    def _parse_partitions(self, text: str) -> tuple[tuple[Partition, ...], int]:
        partitions, skipped = parse.parse_partitions(text)
        return tuple(parse.with_cluster_defaults(partition, self._config) for partition in partitions), skipped

    def _read(self, old: Part[T], argv: list[str], parser: Parser[T], none: str = "") -> Part[T]:
        """The next part. `none` is what the command prints when there are no records."""
        if self._down:
            return dataclasses.replace(old, problem=self._down)
        try:
            answer = self.runner.check(argv)
        except SlurmError as error:
            self._note_down(error)
            return dataclasses.replace(old, problem=str(error))
        records, skipped = parser(answer.text)
        if not records and answer.text.strip() != none:
            return dataclasses.replace(old, problem=f"{argv[0]} printed something that cannot be read.")
        return Part(records, wall_clock(), answer.seconds, skipped, rate_limited=was_limited(answer.stderr))


def version_tuple(text: str) -> tuple[int, int] | None:
    """`22.05.8` as (22, 5); None when there is no release in the text."""
    match = _VERSION.search(text)
    return (int(match[1]), int(match[2])) if match else None
