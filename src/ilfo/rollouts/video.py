"""A short film of a policy as a GIF, made without a display."""

import os
from pathlib import Path

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
from PIL import Image, ImageDraw

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.environments.factory import Factory
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.collect import observe, reset
from ilfo.storage.atomic import require_new

HEIGHT, FRAMES_PER_SECOND, SECONDS = 240, 25, 20
SUFFIXES = (".gif",)


def check_path(path: Path) -> None:
    """Before any work."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path} must end in {' or '.join(SUFFIXES)}")
    require_new(path)


def film(
    made: Factory, policy: HostPolicy, path: Path, *, seed: int, expert_return: float | None = None
) -> float:
    """One greedy episode into a file; what it has gained so far stands in the picture beside the
    expert's return. The return of the whole episode is returned.

    The film is as long as the episode, 20 seconds at most.
    """
    check_path(path)
    os.environ.setdefault("MUJOCO_GL", "egl")  # neither needs a display
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    environment = made.make(render_mode="rgb_array")
    every = max(round(_rate(environment) / FRAMES_PER_SECOND), 1)
    actions = action_space(made.action_space)
    state = reset([environment], [(seed, Purpose.EVALUATE, 0)])
    frames: list[np.ndarray] = []
    total, done, step = 0.0, False, 0
    while not done:
        if step % every == 0 and len(frames) < SECONDS * FRAMES_PER_SECOND:
            frames.append(_labelled(environment.render(), total, expert_return))
        action = actions.to_environment(policy.mode(state[None])[0])[0]
        observation, reward, ends, stops, _ = environment.step(action)
        state, total = observe(observation)[None], total + float(reward)
        done, step = ends or stops, step + 1
    if len(frames) < SECONDS * FRAMES_PER_SECOND:
        frames.append(_labelled(environment.render(), total, expert_return))
    environment.close()
    imageio.imwrite(path, np.stack(frames), duration=1000 / FRAMES_PER_SECOND, loop=0)
    return total


def _rate(environment: gym.Env) -> float:
    return float(environment.metadata.get("render_fps", FRAMES_PER_SECOND))


def _labelled(frame, total: float, expert_return: float | None) -> np.ndarray:
    picture = Image.fromarray(np.asarray(frame))
    picture = picture.resize((picture.width * HEIGHT // picture.height, HEIGHT))
    text = f"return {total:.0f}"
    if expert_return is not None:
        text += f"   expert, whole episode {expert_return:.0f}"
    ImageDraw.Draw(picture).text((6, 4), text, fill=(200, 30, 30))
    return np.asarray(picture)
