"""Data and models: stateless batches, known answers, and the sizes that the records announce."""

import math

import pytest

torch = pytest.importorskip("torch")

from payload.data import SAMPLES, Synthetic, token_entropy  # noqa: E402
from payload.model import MODELS  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("model", ["linear", "gpt-tiny"])
def test_a_batch_depends_on_nothing_but_its_numbers(model: str) -> None:
    fresh, used = Synthetic(model, 1, 2), Synthetic(model, 1, 2)
    for step in range(3):
        used.batch(step, 0, 2)
    torch.rand(5)
    assert all(torch.equal(a, b) for a, b in zip(fresh.batch(7, 1, 2), used.batch(7, 1, 2), strict=True))


@pytest.mark.parametrize("model", ["linear", "gpt-tiny"])
def test_other_steps_ranks_and_seeds_give_other_batches(model: str) -> None:
    data = Synthetic(model, 1, 2)
    inputs = [
        data.batch(1, 0, 2)[0],
        data.batch(1, 1, 2)[0],
        data.batch(2, 0, 2)[0],
        Synthetic(model, 2, 2).batch(1, 0, 2)[0],
    ]
    assert not any(torch.equal(inputs[i], inputs[j]) for i in range(4) for j in range(i))


@pytest.mark.parametrize("model", ["linear", "gpt-tiny"])
def test_the_joined_batch_does_not_depend_on_the_world_size(model: str) -> None:
    one = Synthetic(model, 1, 4).batch(3, 0, 1)[0]
    two = torch.cat([Synthetic(model, 1, 2).batch(3, rank, 2)[0] for rank in range(2)])
    assert torch.equal(one, two)


def test_steps_use_each_sample_once() -> None:
    data = Synthetic("linear", 1, 3)
    used = [index for step in range(4) for rank in range(2) for index in data.indices(step, rank, 2)]
    assert used == list(range(24))


def test_regression_has_its_answer_and_its_noise() -> None:
    inputs, targets = Synthetic("linear", 1, 3000).batch(0, 0, 1)
    weight = torch.linalg.lstsq(inputs, targets).solution
    residual = inputs @ weight - targets
    # 3000 samples, 1000 unknowns per output: the sum of squares has 2000 degrees of freedom for each of the 10 outputs.
    assert residual.square().sum().item() / (2000 * 10) == pytest.approx(0.01, rel=0.03)


def test_tokens_follow_their_predecessor_nine_times_in_ten() -> None:
    inputs, targets = Synthetic("gpt-tiny", 1, 200).batch(0, 0, 1)
    follows = (targets - inputs) % 256 == 37
    assert follows.float().mean().item() == pytest.approx(0.9 + 0.1 / 256, abs=0.01)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])


def test_token_entropy_is_that_of_the_chain() -> None:
    chain = [0.9 + 0.1 / 256] + [0.1 / 256] * 255
    assert token_entropy() == pytest.approx(-sum(p * math.log(p) for p in chain))


def test_every_model_has_data() -> None:
    assert set(MODELS) == set(SAMPLES)


@pytest.mark.parametrize(
    # linear: 1 from the targets, 0.01 from their noise, and a third from torch's initial weights
    ("model", "parameters", "loss"),
    [("linear", 10_000, 1 + 0.01 + 1 / 3), ("gpt-tiny", 875_264, math.log(256))],
)
def test_size_and_first_loss(model: str, parameters: int, loss: float) -> None:
    torch.manual_seed(1)
    net = MODELS[model]()
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert net(*Synthetic(model, 1, 64).batch(0, 0, 1)).item() == pytest.approx(loss, rel=0.1)


def test_gpt_does_not_look_ahead() -> None:
    net = MODELS["gpt-tiny"]()
    logits = []
    net.head.register_forward_hook(lambda _module, _inputs, output: logits.append(output))
    tokens = torch.randint(256, (1, 128), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[0, 100] = (changed[0, 100] + 1) % 256
    net(tokens, tokens)
    net(changed, tokens)
    assert torch.allclose(logits[0][:, :100], logits[1][:, :100], atol=1e-5)
    assert not torch.allclose(logits[0][:, 100], logits[1][:, 100], atol=1e-3)
