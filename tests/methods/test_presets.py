"""Presets: what they promise, beside the paper's table."""

from dataclasses import replace

import pytest

from ilfo.agents.settings import differences
from ilfo.common.fitting import SGD, Adam
from ilfo.dynamics.bonus import BufferNormalised
from ilfo.dynamics.termination import KnownTermination, LearnedTermination
from ilfo.environments.tasks import TASKS, find_task
from ilfo.methods import METHODS
from ilfo.methods.mobile import MobILESettings
from ilfo.methods.presets import PRESETS, find_settings, presets_of
from ilfo.runs.spec import RunSpec


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
@pytest.mark.parametrize("name", PRESETS["mobile"])
def test_every_task_has_every_preset(name, task):
    settings = find_settings(name, task=task)
    assert isinstance(settings, MobILESettings)
    assert settings.termination == KnownTermination(task.terminal)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_the_default_is_one_for_all_and_a_task_adds_its_ending_only(task):
    settings = find_settings("default", task=task)
    assert replace(settings, termination=LearnedTermination()) == MobILESettings()
    assert find_settings("default") == MobILESettings()


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
@pytest.mark.parametrize("name", ["paper", "authors"])
def test_the_papers_presets_have_nothing_of_ours(name, task):
    settings = find_settings(name, task=task)
    assert settings.inference is None
    ours = (settings.floor, settings.fall_back, settings.paired, settings.balanced)
    assert not any(ours)
    assert not settings.dynamics.scaled
    assert settings.bonus == BufferNormalised(quantile=1.0, soft=False)
    assert settings.discriminator.ridge is None


@pytest.mark.parametrize("name", ["paper", "authors"])
def test_the_papers_presets_are_for_its_tasks_only(name):
    with pytest.raises(ValueError, match=f"no preset '{name}' for an unknown environment"):
        find_settings(name)
    seventh = replace(find_task("cartpole"), name="seventh")
    with pytest.raises(ValueError, match=f"no preset '{name}' for seventh; there are: default$"):
        find_settings(name, task=seventh)


def test_a_task_without_rows_of_its_own_has_the_default_and_its_known_ending():
    seventh = replace(find_task("cartpole"), name="seventh")
    assert set(presets_of("mobile", seventh)) == {"default"}
    known = replace(MobILESettings(), termination=KnownTermination(seventh.terminal))
    assert find_settings("default", task=seventh) == known
    for method, kind in METHODS.items():
        if method != "mobile":
            assert find_settings("default", method, seventh) == kind.method.settings()


PAPER = {
    # streams, model's width, passes, clip, buffer, imagined streams, steps
    "cartpole": (2, 64, 20, 2.0, 10, 2, 3),
    "reacher": (2, 64, 100, 2.0, 10, 10, 10),
    "swimmer": (2, 512, 100, 1.0, 10, 4, 20),
    "cartpole-stochastic": (2, 64, 20, 2.0, 10, 4, 5),
    "hopper": (8, 512, 50, 4.0, 16, 8, 10),
    "walker2d": (3, 512, 200, 1.0, 15, 20, 15),
}
PLANNING = {
    # policy's width, its least log deviation, CG steps, damping, KL, critic's width and passes
    "cartpole": (64, None, 50, 0.001, 0.01, 128, 1),
    "reacher": (64, None, 100, 0.001, 0.01, 128, 1),
    "swimmer": (64, None, 100, 0.001, 0.01, 128, 1),
    "cartpole-stochastic": (32, None, 100, 0.001, 0.01, 32, 1),
    "hopper": (32, -1.0, 10, 0.0001, 0.025, 128, 2),
    "walker2d": (32, -2.0, 10, 0.0001, 0.025, 128, 2),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_table(name):
    paper = find_settings("paper", task=find_task(name))
    dynamics, planner, policy = paper.dynamics, paper.planner, paper.policy
    assert (
        paper.streams,
        dynamics.width,
        dynamics.plan.passes,
        dynamics.clip,
        paper.buffer_horizons,
        paper.imagined_streams,
        paper.policy_steps,
    ) == PAPER[name]
    assert (dynamics.members, dynamics.optimiser, dynamics.plan.batch_size) == (
        2,
        SGD(learning_rate=0.005, momentum=0.99),
        256,
    )
    critic = planner.critic
    bound = None if PLANNING[name][1] is None else policy.log_std_min
    assert (
        policy.width,
        bound,
        planner.cg_iterations,
        planner.damping,
        planner.kl,
        critic.width,
        critic.plan.passes,
    ) == PLANNING[name]
    assert (critic.trace, critic.discount, critic.plan.batch_size) == (0.97, 0.995, 64)
    runner = name in ("hopper", "walker2d")
    assert critic.optimiser == (Adam(1e-3, 1e-8, 1e-3) if runner else Adam(1e-3, 1e-5, 0.0))
    assert (paper.discriminator.features, paper.discriminator.bandwidth_quantile) == (128, 0.1)
    assert paper.discriminator.step == (0.67 if name == "swimmer" else 1.0)
    assert paper.discriminator.input == ("pair" if name == "walker2d" else "state")


def test_what_the_authors_do_differently():
    changed = lambda name: differences(
        find_settings("authors", task=find_task(name)), find_settings("paper", task=find_task(name))
    )
    shared = {
        "dynamics.stochastic": "False",
        "discriminator.features": "512",
        "discriminator.frequencies": "'uniform'",
    }
    assert changed("cartpole") == shared
    assert changed("hopper") == shared | {"planner.line_search": "False"}


def test_an_order_takes_its_preset():
    order = RunSpec(task="hopper", preset="paper", changes=("weight=0",))
    assert order.settings().weight == 0
    assert order.settings().streams == 8
    with pytest.raises(ValueError, match=r"no preset 'best'.*default, paper, authors"):
        RunSpec(task="hopper", preset="best").settings()
