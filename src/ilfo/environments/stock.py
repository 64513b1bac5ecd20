"""Bundled recordings of Gymnasium's own MuJoCo tasks: ten episodes of an expert that acts
stochastically, and ten of the same expert acting greedily.

A file is called after its environment, such as `Hopper-v5.npz` and `Hopper-v5-greedy.npz`, and
`ilfo expert record` makes it. An environment is listed once both files are there.
"""

from importlib import resources
from pathlib import Path

from ilfo.data.demonstrations import Demonstrations

BUNDLED = Path(str(resources.files("ilfo.data") / "bundled"))
GREEDY = "-greedy"


def recorded_environments(folder: Path = BUNDLED) -> tuple[str, ...]:
    """Ids of the environments that have recordings of both kinds."""
    versioned = sorted(path.stem for path in folder.glob("*-v5.npz"))
    return tuple(name for name in versioned if (folder / f"{name}{GREEDY}.npz").exists())


def load(
    environment: str, trajectories: int = 10, *, greedy: bool = False, actions: bool = False
) -> Demonstrations:
    """The first of the recorded episodes; states only, unless `actions` asks for them."""
    known = recorded_environments()
    if environment not in known:
        raise ValueError(
            f"no recordings of {environment!r} are bundled; there are some of: {', '.join(known)}. "
            f"`ilfo expert train {environment} --out FOLDER` and `ilfo expert record FOLDER --out "
            "FILE` make others"
        )
    path = BUNDLED / f"{environment}{GREEDY if greedy else ''}.npz"
    return Demonstrations.load(path, actions=actions).take(trajectories)
