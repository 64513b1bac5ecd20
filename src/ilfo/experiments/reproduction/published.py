"""The paper's own numbers.

Scores relative to the expert, mean and standard deviation over five seeds, of each seed's best
policy by true reward.
"""

from typing import NamedTuple


class Score(NamedTuple):
    mean: float
    deviation: float | None
    """None where the paper's figure shows no more than a mean."""

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:g}"
        return f"{self.mean:g}{spread}"


TABLE_1: dict[tuple[str, int], Score] = {
    ("cartpole", 5): Score(1.07, 0.15),
    ("cartpole", 10): Score(1.14, 0.0),
    ("reacher", 10): Score(1.01, 0.05),
    ("reacher", 20): Score(0.997, 0.055),
    ("swimmer", 10): Score(1.54, 1.1),
    ("swimmer", 40): Score(1.25, 0.15),
    ("hopper", 10): Score(1.11, 0.064),
    ("hopper", 40): Score(1.16, 0.03),
    ("walker2d", 10): Score(0.975, 0.12),
    ("walker2d", 50): Score(0.94, 0.038),
}
"""Table 1: MobILE by task and number of demonstrations."""

FIGURE_1: dict[tuple[str, str], Score] = {
    ("reacher", "BC-O"): Score(0.70, 0.08),
    ("reacher", "GAIfO"): Score(0.27, 0.05),
    ("reacher", "ILPO"): Score(0.47, 0.10),
    ("hopper", "BC-O"): Score(0.064, None),
    ("hopper", "GAIfO"): Score(1.01, 0.06),
    ("walker2d", "BC-O"): Score(0.10, None),
    ("walker2d", "GAIfO"): Score(0.84, 0.05),
}
"""Figure 1: the baselines by task; MobILE's bars are those of table 1 with ten demonstrations."""


def published(task: str, label: str, demonstrations: int) -> Score | None:
    """The paper's score of a series, if it prints one."""
    if label == "MobILE":
        return TABLE_1.get((task, demonstrations))
    return FIGURE_1.get((task, label)) if demonstrations == 10 else None
