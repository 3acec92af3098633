"""The trainer itself: what ends a run before training, and real runs of two ranks on gloo."""

import signal
import socket
from collections.abc import Callable, Iterator

import pytest
from helpers import wait_until
from launches import LAUNCH_VARIABLES, Ranks, Record, free_port, records_of, slurm_task

pytest.importorskip("torch")

import os

from payload import train

pytestmark = pytest.mark.torch

TRAIN = ["-m", "payload.train", "--device", "cpu"]
Outcome = tuple[int, str, Record]
Main = Callable[..., Outcome]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Main]:
    """Runs the trainer in this process up to a fault: exit code, stderr, and the `end` record."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGUSR1)}
    for name in list(os.environ):
        if LAUNCH_VARIABLES.match(name):
            monkeypatch.delenv(name)

    def run(*flags: str, **environ: str) -> Outcome:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        code = train.main([*flags])
        out, err = capfd.readouterr()
        (end,) = [record for record in records_of(out.encode()) if record.kind == "end"]
        return code, err, end

    yield run
    for signum, handler in handlers.items():
        signal.signal(signum, handler)


def check(outcome: Outcome, code: int, *parts: str) -> None:
    """The fault is one sentence on stderr with all `parts`, and the end record has its code."""
    exit_code, err, end = outcome
    assert (exit_code, end.fields["code"]) == (code, str(code))
    assert err.count("\n") == 1
    assert [part for part in parts if part not in err] == []


def test_bad_flag(main: Main) -> None:
    check(main("--steps", "0"), 2, "--steps", "--help")


def test_granted_gpus_that_torch_does_not_see(main: Main) -> None:
    check(main(SLURM_JOB_ID="1", SLURM_GPUS_ON_NODE="2", CUDA_VISIBLE_DEVICES=""), 3, "granted", "--nv", "--device cpu")


def test_nccl_on_a_cpu(main: Main) -> None:
    check(main("--device", "cpu", "--backend", "nccl"), 3, "--backend gloo")


def test_taken_port(main: Main) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        check(main("--device", "cpu", **slurm_task(0, 2, MASTER_PORT=port)), 3, f"port {port}", socket.gethostname())


def test_master_address_that_does_not_resolve(main: Main) -> None:
    check(main("--device", "cpu", **slurm_task(0, 2, MASTER_ADDR="n01.invalid")), 3, "n01.invalid", "does not resolve")


def test_missing_rank_is_named(main: Main) -> None:
    task = slurm_task(0, 3, MASTER_PORT=str(free_port()))
    check(main("--device", "cpu", "--init-timeout", "0.5", **task), 4, "1 of 3 ranks", "missing: rank 1, 2")


def test_a_rank_that_finds_no_rank_0_says_where_it_looked(ranks: Ranks) -> None:
    port = str(free_port())
    ranks.start([*TRAIN, "--init-timeout", "0.5"], slurm_task(1, 2, MASTER_PORT=port))
    assert ranks.codes() == [4]
    assert f"could not reach rank 0 at 127.0.0.1:{port}" in ranks.log.read_text()
    assert "127.0.0.1" in ranks.records("warn")[0].fields["text"]


def test_task_whose_rank_was_exported_by_the_batch_script(ranks: Ranks) -> None:
    ranks.start(TRAIN, slurm_task(1, 2, RANK="0"))
    assert ranks.codes() == [3]
    assert "RANK is '0' but this is the task with SLURM_PROCID=1" in ranks.log.read_text()


def losses(ranks: Ranks) -> list[float]:
    return [float(record.fields["loss"]) for record in ranks.records("step")]


def check_trained(ranks: Ranks, steps: int, world: int) -> None:
    """All codes 0, one end record at the last step, every rank seen, the loss well below where it began."""
    assert set(ranks.codes()) == {0}, ranks.log.read_text()
    (end,) = ranks.records("end")
    assert (end.fields["why"], end.fields["code"], end.fields["step"]) == ("done", "0", str(steps))
    assert {record.rank for record in ranks.records("rank")} == set(range(world))
    assert losses(ranks)[-1] < 0.8 * losses(ranks)[0]


def test_two_ranks_under_torchrun(ranks: Ranks) -> None:
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}", *TRAIN]
    ranks.start([*torchrun, "--model", "linear", "--steps", "300"], {})
    check_trained(ranks, 300, 2)
    (hello,) = ranks.records("hello")
    assert (hello.fields["unit"], hello.fields["per_step"], hello.fields["launcher"]) == ("samples", "8", "torchrun")


def test_two_tasks_of_srun(ranks: Ranks) -> None:
    port = str(free_port())
    for rank in range(2):
        ranks.start([*TRAIN, "--steps", "30"], slurm_task(rank, 2, MASTER_PORT=port))
    check_trained(ranks, 30, 2)
    (hello,) = ranks.records("hello")
    # 2 ranks of 4 samples of 128 tokens
    assert (hello.fields["unit"], hello.fields["per_step"], hello.fields["run"]) == ("tok", "1024", "4711.0")
    assert [record.head.split(" ")[0] for record in ranks.records("step")][:5] == [f"{step}/30" for step in range(1, 6)]


def test_one_process_alone(ranks: Ranks) -> None:
    ranks.start([*TRAIN, "--steps", "20"], {})
    check_trained(ranks, 20, 1)


def test_a_loss_that_is_no_number_ends_the_run(ranks: Ranks) -> None:
    ranks.start([*TRAIN, "--model", "linear", "--lr", "1e30", "--steps", "50"], {})
    assert ranks.codes() == [10]
    (end,) = ranks.records("end")
    assert (end.fields["why"], end.fields["code"]) == ("fault", "10")
    assert "lower --lr" in ranks.log.read_text()


def start_endless(ranks: Ranks) -> None:
    port = str(free_port())
    for rank in range(2):
        ranks.start([*TRAIN, "--model", "linear", "--steps", "1000000"], slurm_task(rank, 2, MASTER_PORT=port))
    wait_until(lambda: len(ranks.records("step")) > 6, 30, "the training of two ranks")


def test_one_signalled_rank_stops_all_at_the_same_step(ranks: Ranks) -> None:
    start_endless(ranks)
    ranks.processes[1].send_signal(signal.SIGUSR1)
    assert ranks.codes() == [75, 75]
    (end,), (told,) = ranks.records("end"), ranks.records("signal")
    last_of_rank_1 = [record for record in ranks.records("alive") if record.rank == 1][-1]
    assert (end.fields["why"], end.fields["code"]) == ("stopped", "75")
    assert (told.rank, told.fields["name"]) == (1, "SIGUSR1")
    assert last_of_rank_1.fields["phase"] == "stopped"
    assert last_of_rank_1.fields["step"] == end.fields["step"]


def test_a_killed_rank_ends_the_others_with_a_sentence(ranks: Ranks) -> None:
    start_endless(ranks)
    ranks.processes[1].kill()
    assert ranks.codes() == [11, -signal.SIGKILL]
    (end,) = ranks.records("end")
    assert (end.fields["why"], end.fields["code"]) == ("fault", "11")
    assert "Traceback" not in ranks.log.read_text()
