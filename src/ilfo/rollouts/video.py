"""A short film of a policy, made without a display."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw

from ilfo.common.optional import MissingExtraError
from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.environments.factory import Factory
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.collect import reset
from ilfo.rollouts.film_files import check_film, write_film
from ilfo.rollouts.stepping import observe, step

HEIGHT, FRAMES_PER_SECOND, SECONDS = 240, 25, 20


class NoPictureError(ValueError):
    """An environment makes no pictures of itself."""


def check_rendering(maker: Factory) -> None:
    """Before any work: renders one frame, to find out whether that is possible here."""
    try:
        environment = open_for_rendering(maker)
    except ValueError as error:  # it takes no render_mode
        raise NoPictureError(f"{maker.name} cannot be filmed: {error}") from error
    try:
        environment.reset(seed=0)
        frame = environment.render()
    except gym.error.DependencyNotInstalled as error:
        raise MissingExtraError(
            f"rendering {maker.name} failed ({error}); install what it needs with: "
            "pip install 'ilfo[video]'"
        ) from error
    except NotImplementedError as error:
        raise NoPictureError(
            f"{maker.name} has no method `render`, so it cannot be filmed; let it return a picture "
            'for render_mode="rgb_array"'
        ) from error
    except (AttributeError, ImportError, RuntimeError) as error:  # as MuJoCo's GL backends do
        raise ValueError(
            f"{maker.name} cannot be rendered here: {error}; for a MuJoCo environment, set the "
            "environment variable MUJOCO_GL to egl or osmesa, whichever is installed"
        ) from error
    finally:
        environment.close()
    if np.ndim(frame) != 3:  # type: ignore[arg-type]
        raise NoPictureError(f'{maker.name} has no render_mode="rgb_array", so it cannot be filmed')


def film(
    maker: Factory, policy: HostPolicy, path: Path, *, seed: int, expert_return: float | None = None
) -> float:
    """Films one greedy episode, with its return so far and the expert's return in the picture.
    Returns the return of the whole episode.

    The film is as long as the episode, 20 seconds at most.
    """
    check_film(path)
    frames: list[Image.Image] = []

    def shoot(now: Moment) -> None:
        every = max(round(frame_rate(now.environment) / FRAMES_PER_SECOND), 1)
        if (now.step % every == 0 or now.last) and len(frames) < SECONDS * FRAMES_PER_SECOND:
            frames.append(_labelled(now.environment.render(), now.total, expert_return))

    total = play_greedily(maker, policy, seed, shoot)
    write_film(path, frames, 1000 / FRAMES_PER_SECOND)
    return total


def open_for_rendering(maker: Factory) -> gym.Env:
    os.environ.setdefault("MUJOCO_GL", "egl")  # neither needs a display
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    environment = maker.make(render_mode="rgb_array")
    _follow(environment.unwrapped)
    return environment


def _follow(simulator: Any) -> None:
    """Use the camera `track` of a MuJoCo model, where it has one: it moves along with the robot."""
    if hasattr(simulator, "mujoco_renderer"):
        import mujoco

        camera = mujoco.mj_name2id(simulator.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
        if camera >= 0:
            simulator.mujoco_renderer.camera_id = camera


class Moment(NamedTuple):
    """What can be filmed in one state of an episode."""

    step: int
    environment: gym.Env
    state: np.ndarray
    total: float
    """The return so far."""
    last: bool
    """The episode is over."""


def play_greedily(
    maker: Factory,
    policy: HostPolicy,
    seed: int,
    shoot: Callable[[Moment], None],
    *,
    rendered: bool = True,
) -> float:
    """One greedy episode, of which `shoot` sees every state. Returns its return."""
    environment = open_for_rendering(maker) if rendered else maker.make()
    actions = action_space(maker.action_space)
    state = reset([environment], [(seed, Purpose.EVALUATE, 0)])
    total, done, time = 0.0, False, 0
    while not done:
        shoot(Moment(time, environment, state[0], total, False))
        action = actions.to_environment(policy.mode(state[None])[0])[0]
        observation, reward, ends, stops = step(environment, action)
        state, total = observe(environment, observation)[None], total + float(reward)
        done, time = ends or stops, time + 1
    shoot(Moment(time, environment, state[0], total, True))
    environment.close()
    return total


def frame_rate(environment: gym.Env) -> float:
    return float(environment.metadata.get("render_fps", FRAMES_PER_SECOND))


def _labelled(frame, total: float, expert_return: float | None) -> Image.Image:
    picture = Image.fromarray(np.asarray(frame))
    picture = picture.resize((picture.width * HEIGHT // picture.height, HEIGHT))
    text = f"return {total:.0f}"
    if expert_return is not None:
        text += f"   expert, whole episode {expert_return:.0f}"
    ImageDraw.Draw(picture).text((6, 4), text, fill=(200, 30, 30))
    return picture
