"""Compressed files that would fill the memory are refused, unless the user asks for them."""

import json
import pickle  # noqa: TID251, to write a file that is only parsed
import tracemalloc
import zipfile

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.data import unpacking
from ilfo.data.arrow_sizes import declared_size
from ilfo.data.demonstrations import DemonstrationError, Demonstrations

STATES = np.zeros((50, 200, 25), np.float32)
"""A megabyte that compresses to almost nothing."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(unpacking, "SMALL", 100_000)


@pytest.fixture
def files(tmp_path):
    np.savez_compressed(
        tmp_path / "zeros.npz",
        states=STATES.reshape(-1, 25),
        lengths=np.full(50, 199),
        terminal=np.zeros(50, bool),
    )
    with zipfile.ZipFile(tmp_path / "zeros.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", pickle.dumps([{"episode": states} for states in STATES], 4))
    return tmp_path


def test_a_file_of_zeros_is_read_if_asked_for(files):
    with pytest.raises(DemonstrationError, match=r"zeros\.npz: its .* MiB unpack to .*--large"):
        Demonstrations.load(files / "zeros.npz")
    assert Demonstrations.load(files / "zeros.npz", large=True).count() == 50
    with pytest.raises(DemonstrationError, match=r"zeros\.pt: its .* MiB unpack to .*--large"):
        Demonstrations.from_episodes(files / "zeros.pt", horizon=199, terminal=False)
    read = Demonstrations.from_episodes(files / "zeros.pt", horizon=199, terminal=False, large=True)
    assert read.count() == 50


def test_parquet_that_repeats_a_value(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = 500_000
    numbers = np.zeros(rows)
    columns = {"episode": numbers.astype(int), "terminal": numbers.astype(bool), "x": numbers}
    path = tmp_path / "zeros.parquet"
    parquet.write_table(pa.table(columns), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(DemonstrationError, match=r"zeros\.parquet: its .* unpack to .*--large"):
        Demonstrations.load(path)
    assert Demonstrations.load(path, large=True).states_count == rows


def repeating(path, entry, rows):
    """A table whose rows are all of the episode `entry`, which the file holds once."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    episode = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [entry])
    table = pa.table({"episode": episode, "x": np.zeros(rows), "terminal": np.zeros(rows, bool)})
    parquet.write_table(table, path, compression="zstd", store_schema=False)
    return path


def test_parquet_that_repeats_a_long_text_takes_little_memory(tmp_path):
    import pyarrow as pa

    entry, rows = "a" * 50_000, 2_000
    path = repeating(tmp_path / "text.parquet", entry, rows)
    pool, before = pa.system_memory_pool(), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        assert Demonstrations.load(path).states_count == rows
        taken = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert taken < len(entry) * rows / 10


def test_parquet_of_one_long_text(tmp_path):
    path = repeating(tmp_path / "text.parquet", "a" * 1_000_000, 5)
    with pytest.raises(DemonstrationError, match=r"text\.parquet: its .* unpack to .*--large"):
        Demonstrations.load(path)
    assert Demonstrations.load(path, large=True).states_count == 5


def test_parquet_of_wide_entries(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    wide = pa.array([b"a" * 5_000] * 100, pa.binary(5_000))
    table = {"episode": [0] * 100, "x": [0.0] * 100, "terminal": [0] * 100, "note": wide}
    parquet.write_table(pa.table(table), tmp_path / "wide.parquet")
    with pytest.raises(DemonstrationError, match=r"wide\.parquet: its .* unpack to .*--large"):
        Demonstrations.load(tmp_path / "wide.parquet")


def test_parquet_of_imitation(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    states, rewards = [[0.0, 0.0]] * 50_000, [0.0] * 49_999
    table = pa.table({"obs": [states], "terminal": [False], "rews": [rewards]})
    path = tmp_path / "saved.parquet"
    parquet.write_table(table, path)
    with pytest.raises(DemonstrationError, match=r"saved\.parquet: its .* unpack to"):
        Demonstrations.load(path)
    assert Demonstrations.load(path, large=True).states_count == 50_000


def saved_by_imitation(folder, columns, compression):
    pa = pytest.importorskip("pyarrow")
    folder.mkdir()
    table, options = pa.table(columns), pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(str(folder / "data.arrow"), table.schema, options=options) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return folder


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_of_imitation(compression, tmp_path):
    columns = {"obs": [[[0.0] * 100_000] * 5], "terminal": [False]}
    folder = saved_by_imitation(tmp_path / "saved", columns, compression)
    counted = declared_size(folder / "data.arrow")
    assert 8 * 500_000 <= counted <= 16 * 501_000
    if compression:
        with pytest.raises(DemonstrationError, match=r"saved: its .* MiB unpack to .*--large"):
            Demonstrations.load(folder)
    assert Demonstrations.load(folder, large=True).states_count == 5


def test_arrow_of_nothing_but_nulls(tmp_path):
    import pyarrow as pa

    nulls = pa.nulls(10_000_000)
    folder = saved_by_imitation(tmp_path / "saved", {"obs": nulls, "terminal": nulls}, None)
    assert (folder / "data.arrow").stat().st_size < 1_000
    with pytest.raises(DemonstrationError, match=r"saved: its .* MiB unpack to"):
        Demonstrations.load(folder)


@pytest.mark.filterwarnings("ignore::UserWarning:minari")
def test_minari_that_stores_nothing_of_what_it_declares(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    name, states = "toy/zeros-v0", np.zeros((3, 2), np.float32)
    Demonstrations.from_arrays([states], terminal=False).to_minari(name)
    with h5py.File(tmp_path / name / "data" / "main_data.hdf5", "r+") as file:
        episode = file["episode_0"]
        for part, shape in (("observations", (10**6, 2)), ("rewards", (10**6 - 1,))):
            del episode[part]
            episode.create_dataset(part, shape, "f4")
        del episode["terminations"]
        episode.create_dataset("terminations", (10**6 - 1,), bool)
    with pytest.raises(DemonstrationError, match=r"minari:toy/zeros-v0: its .* unpack.*--large"):
        Demonstrations.load(f"minari:{name}")
    assert Demonstrations.load(f"minari:{name}", large=True).states_count == 10**6


def test_convert_makes_a_file_that_needs_no_asking(files, capsys):
    plain = files / "plain.npz"
    with pytest.raises(SystemExit):
        main(["demos", "convert", str(files / "zeros.npz"), "--out", str(plain)])
    assert "--large" in capsys.readouterr().err
    main(["demos", "convert", str(files / "zeros.npz"), "--large", "--out", str(plain)])
    assert Demonstrations.load(plain).count() == 50
    assert plain.stat().st_size > STATES.nbytes


def test_what_is_saved_can_be_read(tmp_path):
    Demonstrations.from_arrays(STATES, terminal=False).save(tmp_path / "own.npz")
    assert Demonstrations.load(tmp_path / "own.npz").states_count == 50 * 200
