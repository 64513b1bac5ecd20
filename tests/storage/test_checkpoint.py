"""A checkpoint comes back bit for bit, or not at all."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.storage import checkpoint
from ilfo.storage.atomic import atomic, remove_leftovers
from ilfo.storage.checkpoint import CheckpointError, load, read_meta, save

META = {"step": 3, "seeds": [0, 1], "name": "Ω", "score": None}


class Net(eqx.Module):
    weight: jax.Array
    half: jax.Array
    mask: jax.Array
    width: int = 7
    activation: Any = jnp.tanh


class State(eqx.Module):
    net: Net
    net_old: Net
    key: jax.Array
    keys: jax.Array
    host: np.ndarray
    scalar: np.float64
    step: jax.Array
    more: dict[str, Any]


def make_state(seed: int = 0) -> State:
    key = jax.random.key(seed)
    weight = jax.random.normal(key, (3, 2)).at[0, 0].set(jnp.nan).at[0, 1].set(-0.0)
    net = Net(weight, jnp.array([0.1, -3e38], jnp.bfloat16), weight > 0)
    return State(
        net=net,
        net_old=Net(2 * weight, jnp.zeros(2, jnp.bfloat16), weight < 0),
        key=key,
        keys=jax.random.split(jax.random.key(seed, impl="rbg"), (2, 3)),
        host=np.array([[1e-320, np.pi]]),
        scalar=np.float64(0.1),
        step=jnp.array(5, jnp.int32),
        more={"a/b": (jnp.zeros((0, 4)), None, 2.5), "uint": jnp.array([255], jnp.uint8)},
    )


def bits(leaf: Any) -> Any:
    if not eqx.is_array(leaf):
        return leaf
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    data = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
    return str(leaf.dtype), leaf.shape, data.tobytes(), isinstance(leaf, jax.Array)


def assert_same_bits(one: Any, other: Any) -> None:
    assert str(jax.tree.structure(one)) == str(jax.tree.structure(other))
    assert list(map(bits, jax.tree.leaves(one))) == list(map(bits, jax.tree.leaves(other)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save(tmp_path / "last.npz", make_state(), META)
    return tmp_path / "last.npz"


def test_round_trip_is_bit_exact(path: Path) -> None:
    tree, meta = load(path, make_state(seed=1))
    assert_same_bits(tree, make_state())
    assert meta == META
    assert read_meta(path) == META


def test_restored_keys_draw_the_same_numbers(path: Path) -> None:
    tree, _ = load(path, make_state(seed=1))
    assert jnp.array_equal(
        jax.random.normal(tree.key, (4,)), jax.random.normal(jax.random.key(0), (4,))
    )


def test_shapes_are_enough_to_load_into(path: Path) -> None:
    def jax_part() -> Any:
        state = make_state()
        return state.net, state.key, state.step

    save(path, jax_part(), {})
    tree, _ = load(path, eqx.filter_eval_shape(jax_part))
    assert_same_bits(tree, jax_part())


def test_a_single_array_is_a_tree(tmp_path: Path) -> None:
    save(tmp_path / "x.npz", jnp.arange(3), {})
    tree, _ = load(tmp_path / "x.npz", jnp.zeros(3, jnp.int32))
    assert_same_bits(tree, jnp.arange(3))


def test_a_part_of_the_tree_loads_alone(path: Path) -> None:
    net, _ = load(path, make_state(seed=1).net, prefix=".net")
    assert_same_bits(net, make_state().net)


def test_values_that_are_not_arrays_come_from_like(path: Path) -> None:
    like = eqx.tree_at(lambda s: s.net.width, make_state(), 8)
    assert load(path, like)[0].net.width == 8


def test_equal_states_give_equal_files(path: Path) -> None:
    save(path.with_name("again.npz"), make_state(), META)
    assert path.read_bytes() == path.with_name("again.npz").read_bytes()


def test_the_file_is_plain_npz_without_pickle(path: Path) -> None:
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["format"] == checkpoint.FORMAT_VERSION
        assert arrays[".host"].dtype == np.float64
        assert arrays[".step"].dtype == np.int32
    with zipfile.ZipFile(path) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_objects_are_never_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        save(tmp_path / "x.npz", np.array([object()]), {})
    assert list(tmp_path.iterdir()) == []


def test_cut_short_anywhere_is_an_error(path: Path) -> None:
    whole = path.read_bytes()
    for size in [0, 1, 30, *range(100, len(whole), len(whole) // 25), len(whole) - 1]:
        path.write_bytes(whole[:size])
        for read in (read_meta, lambda p: load(p, make_state())):
            with pytest.raises(CheckpointError, match=r"last\.npz"):
                read(path)


def test_flipped_bits_never_change_an_array_unnoticed(path: Path) -> None:
    whole = path.read_bytes()
    refused = 0
    for position in range(0, len(whole), 61):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :])
        try:
            tree, meta = load(path, make_state(seed=1))
        except CheckpointError:
            refused += 1
        else:  # a bit that carries nothing, such as a time stamp
            assert_same_bits(tree, make_state())
            assert meta == META
    assert refused > len(whole) // 61 // 2


def rewrite(path: Path, **members: np.ndarray) -> None:
    with np.load(path) as arrays:
        data = {name: arrays[name] for name in arrays.files} | members
    np.savez(path, **data)


def test_another_format_version_is_refused(path: Path) -> None:
    rewrite(path, format=np.array(99))
    with pytest.raises(CheckpointError, match=r"last\.npz has checkpoint format 99.* reads 1"):
        load(path, make_state())


def test_what_is_not_a_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(CheckpointError, match=r"no checkpoint file .*x\.npz"):
        load(path, make_state())
    with pytest.raises(CheckpointError, match="no checkpoint file"):
        read_meta(tmp_path)
    path.write_text("hello")
    with pytest.raises(CheckpointError, match=r"x\.npz is damaged, incomplete or not"):
        read_meta(path)
    np.savez(path, states=np.zeros(3))
    with pytest.raises(CheckpointError, match="not an ilfo checkpoint"):
        read_meta(path)
    np.savez(path, format=np.array("v1"), meta=np.array("{}"), dtypes=np.array("{}"))
    with pytest.raises(CheckpointError, match="not an ilfo checkpoint"):
        read_meta(path)


def test_compressed_members_are_refused(path: Path) -> None:
    with np.load(path) as arrays:
        data = {name: arrays[name] for name in arrays.files}
    np.savez_compressed(path, **data)
    with pytest.raises(CheckpointError, match="compressed"):
        load(path, make_state())


@pytest.mark.parametrize(
    ("saved", "like", "message"),
    [
        (
            {"a": 1.0},
            {"a": 1.0, "b": 1.0},
            r"missing in the file: \['b'\]; unexpected in it: none",
        ),
        (
            {"a": 1.0, "b": 1.0},
            {"a": 1.0},
            r"missing in the file: none; unexpected in it: \['b'\]",
        ),
        ({"a": [1.0, 2.0]}, {"a": [1.0]}, r"\['a'\].* is float32\[2\] in the file, .*\[1\]"),
        ({"a": 1.0}, {"a": 1}, r"is float32\[\] in the file, expected int32"),
        ({"a": "key"}, {"a": [0, 0]}, r"is key:threefry2x32\[\] in the file, expected int32\[2\]"),
        ({"a": [0, 0]}, {"a": "key"}, r"is int32\[2\] in the file, expected key<fry>\[\]"),
        ({"a": "key"}, {"a": "rbg"}, r"is key:threefry2x32\[\] in the file, expected key<rbg>"),
        ({"a": "half"}, {"a": 1.0}, r"is bfloat16\[\] in the file, expected float32"),
    ],
)
def test_trees_that_do_not_fit(tmp_path: Path, saved: Any, like: Any, message: str) -> None:
    special = {
        "key": jax.random.key(0),
        "rbg": jax.random.key(0, impl="rbg"),
        "half": jnp.zeros((), jnp.bfloat16),
    }

    def arrays(tree: dict[str, Any]) -> dict[str, jax.Array]:
        return {k: special[v] if isinstance(v, str) else jnp.asarray(v) for k, v in tree.items()}

    save(tmp_path / "x.npz", arrays(saved), {})
    with pytest.raises(CheckpointError, match=message) as caught:
        load(tmp_path / "x.npz", arrays(like))
    assert "x.npz" in str(caught.value)


def test_double_precision_is_never_cut_to_single(tmp_path: Path) -> None:
    save(tmp_path / "x.npz", np.zeros(2), {})
    with pytest.raises(CheckpointError, match="jax_enable_x64"):
        load(tmp_path / "x.npz", jax.ShapeDtypeStruct((2,), np.dtype("float64")))


def test_a_failure_before_the_rename_keeps_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="disk on fire"):
        save(path, make_state(seed=1), {"step": 4})
    assert_same_bits(load(path, make_state(seed=1))[0], make_state())
    assert list(path.parent.iterdir()) == [path]


def test_a_kill_before_the_rename_keeps_the_old_file(path: Path) -> None:
    program = (
        "import os, signal, sys; from ilfo.storage.atomic import atomic\n"
        "with atomic(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(path)], env=environment())
    assert killed.returncode == -signal.SIGKILL
    assert len(list(path.parent.iterdir())) == 2  # the temporary file stays, and does not matter
    assert_same_bits(load(path, make_state(seed=1))[0], make_state())
    save(path, make_state(seed=1), {"step": 4})
    assert read_meta(path) == {"step": 4}
    remove_leftovers(path.parent)
    assert list(path.parent.iterdir()) == [path]


def environment() -> dict[str, str]:
    source = str(Path(checkpoint.__file__).parents[2])
    return os.environ | {"PYTHONPATH": source}


def test_overwriting_replaces_the_whole_file(path: Path) -> None:
    save(path, {"a": jnp.ones(1)}, {"step": 4})
    assert_same_bits(load(path, {"a": jnp.zeros(1)})[0], {"a": jnp.ones(1)})


def test_atomic_files_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic(tmp_path / "x") as file:
            file.write(b"x")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("header", [b"{1: ", b"\x00" * 40, b"}" * 20, b"(" * 500, b"1e9"])
def test_a_member_with_a_damaged_header_is_damage(header, tmp_path):
    """Also if the archive's own checksums are right."""
    save(tmp_path / "whole.npz", make_state(), META)
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with (
        zipfile.ZipFile(tmp_path / "whole.npz") as whole,
        zipfile.ZipFile(tmp_path / "damaged.npz", "w") as damaged,
    ):
        first = next(name for name in whole.namelist() if name.startswith("."))
        for name in whole.namelist():
            damaged.writestr(name, content if name == first else whole.read(name))
    with pytest.raises(CheckpointError, match=r"damaged\.npz is damaged"):
        load(tmp_path / "damaged.npz", make_state())
