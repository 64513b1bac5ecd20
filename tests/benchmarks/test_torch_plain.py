"""The two versions in PyTorch that the benchmark compares with do the same work."""

import pytest

torch = pytest.importorskip("torch")

from benchmarks import torch_plain, torch_reference  # noqa: E402
from benchmarks.sizes import CARTPOLE, HOPPER  # noqa: E402


@pytest.mark.parametrize("sizes", [CARTPOLE, HOPPER], ids=["cartpole", "hopper"])
def test_plain_and_tuned_compute_the_same(sizes):
    torch_plain.check_same(sizes, seed=0)


def test_the_check_notices_a_missing_step(monkeypatch):
    monkeypatch.setattr(torch_plain, "clip_grad_norm_", lambda *_, **__: None)
    with pytest.raises(AssertionError):
        torch_plain.check_same(CARTPOLE, seed=0)


def test_both_imagine_batches_of_the_same_shape():
    batches = [
        module.imagine(module.make_state(CARTPOLE, seed=0))
        for module in (torch_plain, torch_reference)
    ]
    for plain, tuned in zip(vars(batches[0]).values(), vars(batches[1]).values(), strict=True):
        assert plain.shape == tuned.shape
        assert torch.isfinite(plain.float()).all()
