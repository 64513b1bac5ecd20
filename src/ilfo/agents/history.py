"""What the iterations of an agent logged."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class History(Mapping[str, np.ndarray]):
    """Columns by name: `history["mmd"]` has one row per iteration and one column per seed; what is
    the same for all seeds, such as `online_samples`, has no columns.

    It has the iterations that this agent object has made. One that was loaded from a run directory
    begins with those of the run, one from a file without any.
    """

    def __init__(self, seeds: tuple[int, ...]):
        self._seeds = seeds
        self._logs: list[dict[str, np.ndarray]] = []

    def add(self, log: Mapping[str, Any]) -> None:
        """One more iteration."""
        self._logs.append({k: np.asarray(v) for k, v in log.items() if v is not None})

    def read(self, table: Path, last: int) -> None:
        """Take the iterations up to the last one from the metrics.csv of a run."""
        with open(table, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if None not in row.values()]
        read = ({name: float(cell) for name, cell in row.items() if cell} for row in rows)
        self.take(row for row in read if row["iteration"] <= last)

    def take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Iterations as the rows of a run's metrics: one for each iteration and seed."""
        iterations: dict[int, dict[int, Mapping[str, Any]]] = {}
        for row in rows:
            iterations.setdefault(int(row["iteration"]), {})[int(row["seed"])] = row
        for number, by_seed in iterations.items():
            several = [by_seed.get(seed, {}) for seed in self._seeds]
            names = dict.fromkeys(name for row in several for name in row)
            log: dict[str, Any] = {
                name: np.array([_known(row.get(name)) for row in several])
                for name in names
                if name not in ("iteration", "seed", "online_samples")
            }
            samples = max(int(row["online_samples"]) for row in by_seed.values())
            self.add(log | {"iteration": number, "online_samples": samples})

    def __getitem__(self, name: str) -> np.ndarray:
        shape = next((log[name].shape for log in self._logs if name in log), None)
        if shape is None:
            raise KeyError(f"{name!r} is no column; there are: {', '.join(self) or 'none yet'}")
        missing = np.full(shape, np.nan)
        return np.stack([log.get(name, missing) for log in self._logs])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for log in self._logs for name in log))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"History({len(self._logs)} iterations; {', '.join(self) or 'no columns'})"

    def frame(self) -> Any:
        """A pandas DataFrame with a row per iteration and seed; needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "a DataFrame needs pandas; install it with: pip install pandas"
            ) from error
        seeds, count = len(self._seeds), len(self._logs)
        columns = {"seed": np.tile(self._seeds, count)}
        for name, values in self.items():
            columns[name] = values.ravel() if values.ndim > 1 else np.repeat(values, seeds)
        return pandas.DataFrame(columns)


def _known(value: Any) -> float:
    return np.nan if value is None else float(value)
