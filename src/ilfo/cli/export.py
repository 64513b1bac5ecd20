"""`ilfo export`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import say
from ilfo.experts import directory
from ilfo.policies import portable
from ilfo.runs.loading import load_policies

FOLDER = Path(portable.__file__).parent
READERS = {
    ".npz": f"act with it by NumPy alone: copy {FOLDER / 'reader.py'}",
    ".onnx": "act with it by any ONNX runtime: `observation`, float32, a batch, to `action`",
    ".pt": f"act with it by PyTorch alone: copy {FOLDER / 'torch_reader.py'}",
}


@dataclass(frozen=True)
class Export:
    """Write the policy of a run to a file that other programs can act with.

    It is the most likely action for an observation; normalisation and the scaling of actions are
    inside.
    """

    run_directory: tyro.conf.Positional[Path]
    """Run directory, or that of an expert."""
    out: tyro.conf.Positional[Path]
    """New file: .npz (NumPy), .onnx (extra onnx) or .pt (PyTorch, extra torch)."""
    seed: int | None = None
    """Seed whose policy is written; by default the one that was judged best."""
    trust_env: str | None = None
    """Experts: the module or file whose code the environment of the training may run."""

    def run(self) -> None:
        portable.check_name(self.out)
        if directory.is_expert(self.run_directory):
            self._write_expert()
        else:
            self._write_seed()

    def _write_expert(self) -> None:
        if self.seed is not None:
            raise ValueError(f"{self.run_directory} is that of an expert, which has no --seed")
        expert = directory.load(self.run_directory, trust_env=self.trust_env)
        problem = expert.problem
        arrays = portable.to_arrays(expert.policy, problem.actions, problem.observation_shape)
        portable.write(arrays, self.out)
        self._say("the expert")

    def _write_seed(self) -> None:
        agent = load_policies(self.run_directory)
        if self.seed is not None and self.seed not in agent.seeds:
            known = ", ".join(map(str, agent.seeds))
            raise ValueError(f"{self.run_directory} has no seed {self.seed}; it has {known}")
        index = agent.best_seed if self.seed is None else agent.seeds.index(self.seed)
        agent.export(self.out, index)
        self._say(f"the policy of seed {agent.seeds[index]}")

    def _say(self, what: str) -> None:
        say(f"{self.out}: {what}; {READERS[self.out.suffix]}")


COMMANDS = {"export": Export}
