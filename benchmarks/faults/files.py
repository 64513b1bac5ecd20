"""Mutated files of every format that is read."""

import random
import resource
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.formats import Format, make_formats
from benchmarks.faults.mutations import mutated
from benchmarks.faults.outcomes import DEFECT, SURVIVED, Child, Outcome, Report, judge
from benchmarks.faults.small_run import SmallRun

WAIT = 120.0
"""Seconds of silence after which a case counts as hanging."""
MEMORY = 8 * 2**30
"""Address space of a process that reads damaged files."""


class Case(NamedTuple):
    """One damaged file."""

    name: str
    form: Format
    seed: int

    @property
    def fault(self) -> str:
        return f"file: {self.name}"


def files(small: SmallRun, count: int, rng: random.Random, report: Report) -> None:
    """So many damaged files, as many of each format."""
    formats = list(make_formats(small).items())
    cases = [Case(*formats[number % len(formats)], rng.randrange(2**32)) for number in range(count)]
    folder = small.folder / "damaged"
    folder.mkdir()
    while cases:
        child = Child(partial(_outcomes, cases, folder))
        said = 0
        for outcome in child.outcomes(WAIT):
            text = f"seed {cases[said].seed}: {outcome.text}"
            report.add(cases[said].fault, Outcome(outcome.kind, text))
            said += 1
        child.end()
        if said < len(cases):
            text = f"seed {cases[said].seed}: the process died or said nothing for {WAIT:.0f} s"
            report.add(cases[said].fault, Outcome(DEFECT, text))
            said += 1
        cases = cases[said:]


def _outcomes(cases: list[Case], folder: Path) -> Iterator[Outcome]:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for form in {case.name: case.form for case in cases}.values():
        # what is imported or compiled costs once
        whole = judge(partial(form.read, form.original))
        if whole.kind != SURVIVED:
            yield Outcome(DEFECT, f"{form.original} is not read without damage: {whole.text}")
    for case in cases:
        place = folder / str(case.seed)
        place.mkdir(exist_ok=True)
        copy = place / case.form.original.name
        (shutil.copytree if case.form.original.is_dir() else shutil.copy)(case.form.original, copy)
        target = copy / case.form.damaged
        target.write_bytes(mutated(target.read_bytes(), random.Random(case.seed)))
        outcome = judge(partial(case.form.read, copy), case.form.limit)
        if outcome.kind != DEFECT:
            shutil.rmtree(place)
        yield outcome
