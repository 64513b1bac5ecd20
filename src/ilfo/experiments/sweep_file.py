"""A sweep of one's own: what its TOML file says, and the runs that it makes.

The file has the fields of a `RunSpec`, `seeds`, `evaluate_every`, and

    [settings]      hyper-parameters of all runs
    [grid]          lists of values: all their combinations are run; settings in [grid.settings]
    [[list]]        one entry for each variant, with a name

With both a grid and a list, every variant is run with every combination.
"""

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ilfo.common.importing import FILE
from ilfo.common.printable import brief, quoted
from ilfo.data.files import minari_id
from ilfo.experiments.engines.base import Job
from ilfo.runs.launch import check_recordings
from ilfo.runs.spec import RunSpec, to_json
from ilfo.storage.config import from_dict

OWN = {"seeds", "first_seed", "changes"}
FIELDS = {field.name for field in fields(RunSpec)} - OWN
TABLES = {"settings", "grid", "list"}
MOST = 100_000
"""Runs of a sweep."""
LONGEST = 200
"""Characters of a run's name. Most systems allow 255 in the name of a file, and a run's log and
temporary files have longer names than its directory."""
SEEDS = 2**32
"""Seeds are below this."""
SAFE = re.compile(r"[^A-Za-z0-9._-]+")


class PlannedRun(NamedTuple):
    name: str
    """Also of its run directory."""
    spec: RunSpec


@dataclass(frozen=True)
class SweepFile:
    """A sweep as its file describes it."""

    path: Path
    content: Mapping[str, Any]
    """What TOML says."""
    runs: tuple[PlannedRun, ...]
    evaluate_every: int

    def check(self) -> None:
        """Make the agent of every combination, without training it, so that all errors that need
        its demonstrations, environment or settings come now."""
        specs = {repr(replace(run.spec, first_seed=0)): run for run in self.runs}
        compared: set[str] = set()
        for name, spec in specs.values():
            try:
                agent = spec.agent()
                agent.check_budget(spec.budget)
                problem = repr(replace(spec, first_seed=0, changes=(), total_timesteps=1))
                if problem not in compared:  # takes a while
                    compared.add(problem)
                    check_recordings(agent)
            except Exception as error:
                error.add_note(f"in {self.path}, run {name}")
                raise

    def job(self, run: PlannedRun, out: Path, cpus: int, mark: Path | None) -> Job:
        """The job of a run, whose directory is in the folder `out`."""
        folder = str(out.resolve() / run.name)
        arguments = {"spec": to_json(run.spec), "evaluate_every": self.evaluate_every}
        shared = None if mark is None else str(mark.resolve())
        return Job(run.name, "run", arguments | {"out": folder}, folder, cpus, shared)


def read_sweep(path: Path) -> SweepFile:
    """Read the file of a sweep. Raise ValueError if it says anything that is not understood."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    try:
        every = content.get("evaluate_every", 1)
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(
                f"evaluate_every is {quoted(every)}, but must be a number of iterations"
            )
        runs = tuple(_runs(content, path.resolve().parent))
    except (ValueError, OSError) as error:
        error.add_note(f"in {path}")
        raise
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply; flatten its tables") from error
    return SweepFile(path, content, runs, every)


def _runs(content: Mapping[str, Any], folder: Path) -> Iterator[PlannedRun]:
    _check_keys("", content, FIELDS | TABLES | {"seeds", "evaluate_every"})
    seeds = _seeds(content.get("seeds", 1))
    base = {name: value for name, value in content.items() if name in FIELDS}
    settings = _flat(_table(content, "settings"))
    names: set[str] = set()
    variants, combinations = _variants(content), _combinations(content)
    _check_number(len(variants) * len(combinations) * len(seeds))
    for variant, combination in itertools.product(variants, combinations):
        given = base | variant.fields | combination.fields
        changes = settings | variant.settings | combination.settings
        label = "_".join(filter(None, (variant.name, combination.name)))
        label = label or str(given.get("method", RunSpec.method))
        if label in names:
            raise ValueError(f"two runs would be called {label}; let their names or values differ")
        names.add(label)
        try:
            spec = _spec(given, changes, seeds[0], folder)
        except (ValueError, OSError) as error:
            error.add_note(f"run {label}-{seeds[0]}")
            raise
        for seed in seeds:
            yield PlannedRun(_name(label, seed), replace(spec, first_seed=seed))


def _name(label: str, seed: int) -> str:
    name = f"{label}-{seed}"
    if len(name) > LONGEST:
        raise ValueError(
            f"a run would be called {brief(name)}, {len(name)} characters, but at most {LONGEST} "
            "fit the name of a folder; give the entries of list shorter names, or the grid fewer "
            "or shorter values"
        )
    return name


class _Part(NamedTuple):
    """What one variant, or one combination of the grid, adds."""

    name: str
    fields: dict[str, Any]
    settings: dict[str, Any]


def _variants(content: Mapping[str, Any]) -> list[_Part]:
    entries = content.get("list", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"list is {quoted(entries)}, but must be entries that begin with [[list]]")
    if "list" not in content:
        return [_Part("", {}, {})]
    parts = []
    for entry in entries:
        _check_keys("list.", entry, FIELDS | {"settings", "name"})
        name = entry.get("name")
        if not isinstance(name, str) or not name or SAFE.search(name):
            raise ValueError(
                f"an entry of list has the name {quoted(name)}; names are letters, digits, '.', "
                "'_', '-'"
            )
        own = {key: value for key, value in entry.items() if key in FIELDS}
        parts.append(_Part(name, own, _flat(_table(entry, "settings"))))
    return parts


def _combinations(content: Mapping[str, Any]) -> list[_Part]:
    grid = _table(content, "grid")
    _check_keys("grid.", grid, FIELDS | {"settings"})
    settings = _flat(_table(grid, "settings"))
    axes = {name: values for name, values in grid.items() if name != "settings"} | settings
    if len(axes) < len(grid.keys() - {"settings"}) + len(settings):
        raise ValueError("a name stands both in grid and in grid.settings")
    for name, values in axes.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"grid: {name} is {quoted(values)}, but must be a list of values")
    _check_number(math.prod(map(len, axes.values())))
    return [
        _Part(
            "_".join(f"{_short(name, axes)}-{_safe(value)}" for name, value in chosen.items()),
            {name: value for name, value in chosen.items() if name not in settings},
            {name: value for name, value in chosen.items() if name in settings},
        )
        for values in itertools.product(*axes.values())
        for chosen in [dict(zip(axes, values, strict=True))]
    ]


def _check_number(runs: int) -> None:
    if runs > MOST:
        raise ValueError(
            f"it describes {brief(f'{runs:,}')} runs, but at most {MOST:,} are possible; use fewer "
            "seeds or values, or several files"
        )


def _short(name: str, among: Mapping[str, Any]) -> str:
    """The last part of a dotted name, if no other ends alike."""
    last = name.rpartition(".")[2]
    alike = [other for other in among if other.rpartition(".")[2] == last]
    return last if len(alike) == 1 else name


def _safe(value: Any) -> str:
    text = "-".join(map(str, value)) if isinstance(value, list) else _text("grid", value)
    return SAFE.sub("-", text).strip("-") if isinstance(value, str) else SAFE.sub("-", text)


def _spec(given: Mapping[str, Any], changes: Mapping[str, Any], seed: int, folder: Path) -> RunSpec:
    if given.get("task") and (given.get("env") or given.get("demos")):
        raise ValueError("give either task, or env with demos, not both")
    if not given.get("task") and not (given.get("env") and given.get("demos")):
        raise ValueError("what to train on is missing; give task, or env with demos")
    located = {"task": None, **given}
    if isinstance(located.get("demos"), str):
        located["demos"] = _demos(located["demos"], folder)
    if isinstance(located.get("env"), str):
        located["env"] = _env(located["env"], folder)
    texts = [f"{name}={_text(name, value)}" for name, value in changes.items()]
    own = {"seeds": 1, "first_seed": seed, "changes": texts, "type": RunSpec.__name__}
    spec: RunSpec = from_dict(located | own, {RunSpec.__name__: RunSpec})
    spec.settings()
    return spec


def _demos(place: str, folder: Path) -> str:
    """The same file from anywhere; a relative path is relative to the file of the sweep."""
    if minari_id(place) is not None:
        return place
    path = (folder / place).resolve()
    if not path.exists():
        raise FileNotFoundError(f"demos: there is no file or folder {path}")
    return str(path)


def _env(name: str, folder: Path) -> str:
    module, colon, entry = name.rpartition(":")
    return f"{(folder / module).resolve()}{colon}{entry}" if module.endswith(FILE) else name


def _seeds(value: Any) -> Sequence[int]:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        _check_number(value)
        return range(value)
    whole = isinstance(value, list) and all(
        type(seed) is int and 0 <= seed < SEEDS for seed in value
    )
    if not whole or not value or len(set(value)) < len(value):
        raise ValueError(
            f"seeds is {quoted(value)}, but must be a number of seeds, or a list of different ones "
            "in [0, 2**32)"
        )
    return value


def _table(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = content.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {quoted(value)}, but must be a table: [{name}]")
    return value


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names, however TOML nests them."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        inner = _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else None
        for key, item in (inner or {f"{prefix}{name}": value}).items():
            if key in flat:
                raise ValueError(f"the setting {key} is given twice")
            flat[key] = item
    return flat


def _text(name: str, value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    raise ValueError(f"{name} is {quoted(value)}, but must be a number, true, false or a string")


def _check_keys(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    for name in table:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise ValueError(f"unknown key {where}{brief(name)}; there are: {listed}")
