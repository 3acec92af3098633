from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import make_recording
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_text import job_text, node_text, partition_text

from console import plain
from console.cli import main
from jobs.slurm.access import Viewer
from jobs.slurm.anonymize import anonymize
from jobs.slurm.cluster import Cluster
from jobs.slurm.recorded import Recording, encode, load, read_commands
from jobs.slurm.replay import Replay
from jobs.slurm.run import Answer

NOW = 1796095660.0
KINDS = ("user", "account", "qos", "job", "nodes", "partition", "folder", "comment", "reason", "cluster", "reservation")
name = st.from_regex(r"[A-Za-zéü深][A-Za-z0-9éü深]{0,3}[._-]?[A-Za-z]{3,8}\d{0,2}", fullmatch=True)
distinct = st.lists(name, min_size=len(KINDS), max_size=len(KINDS), unique_by=str.lower)


def recording(names: dict[str, str]) -> Recording:
    """Four nodes with eight GPUs of two types, one of them drained, and a job on two of them."""
    user, nodes, part = names["user"], names["nodes"], names["partition"]
    reason = f"{names['reason']} broke it [{user}@{int(NOW)}]"
    node = {
        "Partitions": part,
        "NodeAddr": "10.11.12.13",
        "NodeHostName": f"{nodes}-x",
        "ActiveFeatures": names["comment"],
    }
    gpus = {"Gres": "gpu:a100:2(S:0-1),gpu:1g.5gb:3", "GresUsed": "gpu:a100:1(IDX:0),gpu:1g.5gb:0(IDX:N/A)"}
    config = (
        f"ClusterName             = {names['cluster']}\nSlurmctldHost[0]        = {nodes}(10.11.12.13)\n"
        f"SLURM_VERSION           = 22.05.8\nJobCompLoc              = /{names['folder']}/x\n"
    )
    reservation = (
        f"ReservationName={names['reservation']} StartTime=1 EndTime=2 Duration=00:00:01\n   Nodes={nodes}[01-02]"
        f" NodeCnt=2 Features=(null) PartitionName={part} Flags=MAINT\n   Users={user} Accounts={names['account']}"
        f" State=ACTIVE\n   Comment={names['comment']} = {user}\n"
    )
    tres = f"cpu=64,license/{names['account']}=2"
    both = (
        node_text(f"{nodes}01", State="IDLE+DRAIN", Reason=reason, Comment=names["comment"], **gpus, **node),
        node_text(f"{nodes}02", State="MIXED", CPUAlloc="64", CfgTRES=tres, **node),
    )
    limits = {"AllowAccounts": f"{names['account']},{user}", "AllowQos": names["qos"]}
    job = job_text(
        JobID="7", UserName=user, Account=names["account"], QOS=names["qos"], Partition=part, Name=names["job"],
        NodeList=f"{nodes}[01-02]", BatchHost=f"{nodes}01", WorkDir=f"/{names['folder']}/{user}",
        STDOUT=f"/{names['folder']}/{user}/%x-%j_{names['job']}.out", STDERR=f"/{names['folder']}/{user}.err",
        Reason=f"ReqNodeNotAvail, UnavailableNodes:{nodes}[01-02]",
    )  # fmt: skip
    partition = partition_text(part, Nodes=f"{nodes}[01-02]", **limits)
    texts = (config, "slurm 22.05.8\n", "".join(both), partition, reservation, job)
    argvs = read_commands()
    stderr = f"scontrol: error: {names['nodes']} of {user}\n".encode()
    answers = tuple(Answer(tuple(a), 0, t.encode(), stderr, 0.01) for a, t in zip(argvs, texts, strict=True))
    return Recording(NOW, Viewer(user, 5001, frozenset({user, names["account"]})), answers)


def gpus(kept: Recording) -> dict[str, Any]:
    """The answer of `gpus` without its time and the names of cluster and partitions."""
    data = plain.gpus_data(Cluster(Replay(kept)).refresh())
    data["cluster"] = data["taken_at"] = None
    data["partitions"] = [part | {"partition": None} for part in data["partitions"]]
    for counts in (data["gpu_types"], *(part["gpu_types"] for part in data["partitions"])):
        for block in filter(None, (count["largest_block"] for count in counts)):
            block["partition"] = None
    return data


@settings(max_examples=150, deadline=None)
@given(distinct, st.integers(0, 2**32))
def test_no_name_survives_and_the_numbers_do(names: list[str], seed: int) -> None:
    given_names = dict(zip(KINDS, names, strict=True))
    kept = recording(given_names)
    hidden = anonymize(kept, seed)
    content = encode(hidden).decode()
    told = "\n".join(str(value) for line in content.splitlines() for value in json.loads(line).values())
    vocabulary = encode(recording(dict.fromkeys(KINDS, "0"))).decode()
    for word in names:
        if len(re.sub(r"[^A-Za-zéü深]", "", word)) >= 4 and word not in vocabulary:
            assert word not in content
            assert word not in told
    assert "10.11.12" not in content
    assert gpus(hidden) == gpus(kept)
    assert [len(a.stdout) for a in hidden.answers] == [len(a.stdout) for a in kept.answers]
    assert hidden.anonymized


@settings(max_examples=100, deadline=None)
@given(st.binary(), st.binary(), st.integers(0, 2**32))
def test_no_output_of_a_command_can_make_it_fail_or_change_its_length(out: bytes, err: bytes, seed: int) -> None:
    for argv in read_commands():
        (answer,) = anonymize(
            Recording(NOW, Viewer("x", 1, frozenset()), (Answer(tuple(argv), 0, out, err, 0.0),)), seed
        ).answers
        assert (len(answer.stdout), len(answer.stderr)) == (len(out), len(err))


def test_the_same_name_gets_the_same_other_name_everywhere() -> None:
    hidden = anonymize(recording(dict.fromkeys(KINDS, "gpuhost") | {"user": "alice", "partition": "Long-Queue"}))
    snapshot = Cluster(Replay(hidden)).refresh()
    (job,), (part,) = snapshot.jobs.records, snapshot.partitions.records
    assert re.fullmatch(r"[A-Z][a-z]{3}-[A-Z][a-z]{4}", part.name)
    assert job.partition == part.name == snapshot.nodes.records[0].partitions[0]
    assert job.node_list == part.node_list == snapshot.nodes.records[0].name[:-2] + "[01-02]"
    assert hidden.viewer.user == job.user
    assert hidden.viewer.groups == {job.user, job.account}
    assert job.stdout.rpartition(".")[0].split("/")[2:] == [job.user, f"%x-%j_{job.name}"]
    assert (job.reason.partition(":")[0].split(",")[0], job.state) == ("ReqNodeNotAvail", "RUNNING")


def test_other_names_each_time() -> None:
    kept = recording(dict.fromkeys(KINDS, "gpuhost"))
    assert anonymize(kept).viewer.user != anonymize(kept).viewer.user


def test_a_large_recording_keeps_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "hidden.jsonl"
    assert main(["--replay", "messy", "record", "--anonymize", str(path)]) == 0
    hidden, kept = load(path), load(make_recording.TARGET)
    assert hidden.taken_at == kept.taken_at
    assert gpus(hidden) == gpus(kept)
    before, after = (Cluster(Replay(each)).refresh(mine=True).jobs.records for each in (kept, hidden))
    assert [(j.job_id, j.state, j.gpus, j.gpu_type, j.nodes) for j in after] == [
        (j.job_id, j.state, j.gpus, j.gpu_type, j.nodes) for j in before
    ]
    text = path.read_text()
    for word in (*make_recording.PEOPLE, "mara", "pretrain", "gpu-a0", "messy", "preempt", "legacy", "bus", "nvswitch"):
        if len(re.sub(r"[^a-z]", "", word)) >= 4:
            assert word not in text
