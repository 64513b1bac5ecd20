"""The campaign of faults tells defects from clear errors, and damages files as its seed says."""

import io
import random
import zipfile

import pytest

from benchmarks.faults.kills import certain_kills
from benchmarks.faults.mutations import mutated
from benchmarks.faults.outcomes import (
    CLEAR,
    DEFECT,
    SURVIVED,
    Limit,
    Outcome,
    Report,
    Undetected,
    judge,
)
from ilfo.runs.launch import TrainingError


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("x is 3, but must be 2"), CLEAR),
        (OSError(28, "No space left on device"), CLEAR),
        (ValueError(""), DEFECT),
        (ValueError("a" * 10_000), DEFECT),
        (KeyError("seeds"), DEFECT),
        (RecursionError("too deep"), DEFECT),
        (Undetected("a changed row"), DEFECT),
    ],
)
def test_what_counts_as_a_clear_error(error, kind):
    assert judge(raising(error)).kind == kind
    assert judge(lambda: None).kind == SURVIVED


def test_a_failed_training_is_clear_only_if_the_environment_failed():
    def work():
        raise TrainingError("training failed") from KeyError("position")

    assert judge(work, raised=KeyError("position")).kind == CLEAR
    assert judge(work, raised=KeyError("other")).kind == DEFECT
    assert judge(work).kind == DEFECT


def test_what_takes_too_long_is_a_defect():
    assert judge(lambda: sum(range(10**6)), Limit(1e-6, 1e6)).kind == DEFECT
    assert judge(lambda: None, Limit(10, 1e6)).kind == SURVIVED


def test_every_fsync_and_rename_and_a_write_before_each_is_killed_once():
    moments = ["write"] * 3 + ["fsync", "before rename", "after rename", "write", "fsync"]
    kills = certain_kills(moments)
    assert [number for name, number in kills if name != "kill in a write"] == [3, 4, 5, 7]
    assert [number for name, number in kills if name == "kill in a write"] == [1, 6]


def test_defects_are_counted_and_kept():
    report = Report()
    for outcome in (Outcome(SURVIVED), Outcome(CLEAR, "x"), Outcome(DEFECT, "Traceback")):
        report.add("file: csv", outcome)
    assert dict(report.counts["file: csv"]) == {SURVIVED: 1, CLEAR: 1, DEFECT: 1}
    assert report.defects == ["file: csv: Traceback"]


def archive_of(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.npy", content)
    return packed.getvalue()


@pytest.mark.parametrize("data", [b'{"a": [1, 2.5]}\n', bytes(range(256)), archive_of(b"abc" * 50)])
def test_damage_follows_from_the_seed(data):
    made = [mutated(data, random.Random(seed)) for seed in range(200)]
    assert made == [mutated(data, random.Random(seed)) for seed in range(200)]
    assert sum(damaged != data for damaged in made) > 150
    assert len(set(made)) > 100
