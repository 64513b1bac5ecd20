import os
import subprocess
import sys

import jax
import pytest

from ilfo.common.devices import devices

HAS_GPU = any(device.platform == "gpu" for device in jax.devices())


def test_the_devices_are_those_of_jax():
    assert devices() == jax.devices()


@pytest.mark.skipif(HAS_GPU, reason="this machine has a GPU")
@pytest.mark.parametrize("command", [["train"], ["doctor", "--env", "CartPole-v1", "--demos"]])
def test_a_gpu_that_is_not_there_costs_one_line(command, demos_file, tmp_path):
    if command[-1] == "--demos":
        command = [*command, str(demos_file)]
    done = subprocess.run(
        [sys.executable, "-m", "ilfo", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cuda", "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("error: JAX_PLATFORMS is 'cuda', but JAX finds no such device")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
