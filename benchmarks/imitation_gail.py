"""GAIL of the library `imitation`, timed: run by `benchmarks.adversarial` in an environment of its
own, which has no `ilfo`.

    python imitation_gail.py DEMONSTRATIONS PLANNER ROUNDS STREAMS STEPS UPDATES BATCH EPOCHS

Prints one JSON object: wall-clock and processor seconds of each round.
"""

import json
import sys
import time

import gymnasium
import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import Trajectory
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util.networks import RunningNorm
from imitation.util.util import make_vec_env
from sb3_contrib import TRPO
from stable_baselines3 import PPO


def trajectories(path: str) -> list[Trajectory]:
    with np.load(path) as file:
        lengths, states, actions = file["lengths"], file["states"], file["actions"]
        terminal = file["terminal"]
    ends = np.cumsum(lengths)
    return [
        Trajectory(
            states[end - length + i : end + i + 1], actions[end - length : end], None, bool(ended)
        )
        for i, (length, end, ended) in enumerate(zip(lengths, ends, terminal, strict=True))
    ]


def main() -> None:
    path, planner = sys.argv[1:3]
    rounds, streams, steps, updates, batch, epochs = map(int, sys.argv[3:])
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    environments = make_vec_env("CartPole-v1", rng=generator, n_envs=streams)
    common = {"n_steps": steps, "gamma": 0.995, "gae_lambda": 0.97, "seed": 0, "device": "cpu"}
    learner = (
        TRPO("MlpPolicy", environments, batch_size=128, n_critic_updates=epochs, **common)
        if planner == "trpo"
        else PPO("MlpPolicy", environments, batch_size=128, n_epochs=epochs, **common)
    )
    trainer = GAIL(
        demonstrations=trajectories(path)[:10],
        demo_batch_size=batch,
        gen_replay_buffer_capacity=streams * steps,
        n_disc_updates_per_round=updates,
        venv=environments,
        gen_algo=learner,
        reward_net=BasicRewardNet(
            environments.observation_space,
            environments.action_space,
            normalize_input_layer=RunningNorm,
        ),
        gen_train_timesteps=streams * steps,
        allow_variable_horizon=True,
    )
    now = lambda: (time.perf_counter(), time.process_time())
    times = [now()]
    trainer.train(rounds * streams * steps, callback=lambda _: times.append(now()))
    spent = np.diff(np.array(times), axis=0)
    versions = {"gymnasium": gymnasium.__version__, "torch": torch.__version__}
    print(json.dumps({"wall": spent[:, 0].tolist(), "cpu": spent[:, 1].tolist()} | versions))


if __name__ == "__main__":
    main()
