"""What the iterations of an agent logged."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


class History(Mapping[str, np.ndarray]):
    """Columns by name: `history["mmd"]` has one row per iteration and one column per seed; what is
    the same for all seeds, such as `online_samples`, has no columns.

    It has the iterations that this agent object has made; one that was loaded begins without any.
    """

    def __init__(self, seeds: tuple[int, ...]):
        self._seeds = seeds
        self._logs: list[dict[str, np.ndarray]] = []

    def add(self, log: Mapping[str, Any]) -> None:
        """One more iteration."""
        self._logs.append({k: np.asarray(v) for k, v in log.items() if v is not None})

    def __getitem__(self, name: str) -> np.ndarray:
        shape = next((log[name].shape for log in self._logs if name in log), None)
        if shape is None:
            raise KeyError(name)
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
