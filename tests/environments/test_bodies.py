"""Other bodies, against MuJoCo's own quantities."""

import gymnasium as gym
import numpy as np
import pytest

import ilfo.environments  # noqa: F401  (registers them)
from ilfo.environments.factory import factory, split_options, with_options

RUNNERS = {"ilfo/Hopper-v0": ("leg",), "ilfo/Walker2d-v0": ("leg", "leg_left")}
TASKS = (*RUNNERS, "ilfo/Swimmer-v0", "ilfo/Reacher-v0")


def model(name, **options):
    return gym.make(name, **options).unwrapped.model


@pytest.mark.parametrize("name", RUNNERS)
def test_mass_is_the_torsos(name):
    usual, heavy = model(name), model(name, mass=1.3)
    torso = usual.body("torso").id
    others = np.arange(usual.nbody) != torso
    assert heavy.body_mass[torso] == pytest.approx(1.3 * usual.body_mass[torso])
    np.testing.assert_allclose(heavy.body_inertia[torso], 1.3 * usual.body_inertia[torso])
    np.testing.assert_array_equal(heavy.body_mass[others], usual.body_mass[others])


def test_mass_of_swimmer_and_reacher_is_that_of_their_links():
    usual, heavy = model("ilfo/Swimmer-v0"), model("ilfo/Swimmer-v0", mass=2)
    np.testing.assert_allclose(heavy.body_mass, 2 * usual.body_mass)
    usual, heavy = model("ilfo/Reacher-v0"), model("ilfo/Reacher-v0", mass=2)
    for link, joint in (("body0", "joint0"), ("body1", "joint1")):
        assert heavy.body(link).mass == pytest.approx(2 * usual.body(link).mass)
        assert heavy.joint(joint).armature == pytest.approx(2 * usual.joint(joint).armature)
    assert heavy.body("target").mass == usual.body("target").mass


@pytest.mark.parametrize("name", TASKS)
def test_motors_are_gears(name):
    usual, weak = model(name), model(name, motors=0.8)
    np.testing.assert_allclose(weak.actuator_gear[:, 0], 0.8 * usual.actuator_gear[:, 0])
    np.testing.assert_array_equal(weak.actuator_ctrlrange, usual.actuator_ctrlrange)
    np.testing.assert_array_equal(weak.body_mass, usual.body_mass)


@pytest.mark.parametrize("name", RUNNERS)
def test_gravity(name):
    np.testing.assert_allclose(model(name, gravity=1.2).opt.gravity, [0, 0, -1.2 * 9.81])


@pytest.mark.parametrize("name", RUNNERS)
def test_a_longer_leg_stands_higher_on_the_same_foot(name):
    usual, long = gym.make(name).unwrapped, gym.make(name, leg=1.1).unwrapped
    assert long.init_qpos[1] == pytest.approx(usual.init_qpos[1] + 0.05)
    for environment in (usual, long):
        environment.set_state(environment.init_qpos, environment.init_qvel)
    for leg in RUNNERS[name]:
        geom = f"{leg}_geom"
        assert long.model.geom(geom).size[1] == pytest.approx(1.1 * usual.model.geom(geom).size[1])
        foot = leg.replace("leg", "foot")
        np.testing.assert_allclose(long.data.body(foot).xpos, usual.data.body(foot).xpos, atol=1e-9)
        joint = f"{leg}_joint"  # the knee: as far below the torso as before
        below = [x.data.joint(joint).xanchor - x.data.body("torso").xpos for x in (usual, long)]
        np.testing.assert_allclose(*below, atol=1e-9)
    assert long.model.body("leg").mass > usual.model.body("leg").mass


def test_the_usual_body_is_gymnasiums():
    plain = gym.make("Hopper-v5").unwrapped.model
    for given in ({}, {"mass": 1, "leg": 1.0}):
        ours = model("ilfo/Hopper-v0", **given)
        np.testing.assert_array_equal(ours.body_mass, plain.body_mass)
        np.testing.assert_array_equal(ours.geom_size, plain.geom_size)


def test_other_bodies_move_otherwise():
    reached = []
    for options in ({}, {"mass": 1.3}, {"motors": 0.8}, {"leg": 1.1}, {"gravity": 1.2}):
        environment = gym.make("ilfo/Hopper-v0", **options)
        environment.reset(seed=0)
        for _ in range(5):
            observation, *_ = environment.step(np.full(3, 0.5, np.float32))
        reached.append(tuple(observation))
    assert len(set(reached)) == 5


def test_levels_of_each_joint():
    environment = gym.make("ilfo/Walker2d-v0", bins=5)
    assert environment.action_space == gym.spaces.MultiDiscrete([5] * 6)
    plain = gym.make("ilfo/Walker2d-v0")
    seen = [x.reset(seed=0)[0] for x in (environment, plain)]
    np.testing.assert_array_equal(*seen)
    ours = environment.step(np.array([0, 1, 2, 3, 4, 0]))[0]
    theirs = plain.step(np.array([-1, -0.5, 0, 0.5, 1, -1], np.float32))[0]
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="must be one of MultiDiscrete"):
        environment.get_wrapper_attr("action")(np.array([0, 1, 2, 3, 4, 5]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 0}, "mass is 0, but must be a number above 0"),
        ({"motors": -0.5}, "motors is -0.5"),
        ({"leg": "long"}, "leg is 'long'"),
        ({"gravity": float("nan")}, "gravity is nan"),
        ({"reset_noise": "big"}, "reset_noise is 'big', but must be a number from 0 on"),
        ({"reset_noise": -1.0}, "reset_noise is -1"),
        ({"bins": 1}, "bins is 1, but must be a whole number of levels, at least 2"),
        ({"mas": 1.3}, r"Hopper has no option mas; its options are: mass, motors, leg, gravity"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        gym.make("ilfo/Hopper-v0", **options)
    named = ",".join(["ilfo/Hopper-v0", *(f"{name}={value}" for name, value in options.items())])
    with pytest.raises(ValueError, match=message):
        factory(named)


def test_numbers_of_numpy():
    heavy = gym.make("ilfo/Hopper-v0", mass=np.float32(1.5), bins=np.int64(3))
    assert heavy.unwrapped.body.mass == 1.5
    assert heavy.action_space == gym.spaces.MultiDiscrete([3, 3, 3])


def test_options_that_make_no_sense_for_a_task():
    with pytest.raises(ValueError, match="Swimmer has no option leg"):
        gym.make("ilfo/Swimmer-v0", leg=1.1)
    with pytest.raises(ValueError, match="Reacher has no option gravity"):
        gym.make("ilfo/Reacher-v0", gravity=1.1)


def test_options_in_a_name():
    made = factory("ilfo/Hopper-v0,mass=1.3,motors=0.8")
    assert made.name == "ilfo/Hopper-v0,mass=1.3,motors=0.8"
    assert made.horizon == 400
    inside = made.make().unwrapped.model
    assert inside.actuator_gear[0, 0] == pytest.approx(160)
    assert split_options("a.py:Env-v0,x=1,y=2.5,z=true,w=fast") == (
        "a.py:Env-v0",
        {"x": 1, "y": 2.5, "z": True, "w": "fast"},
    )
    assert factory("CartPole-v1,sutton_barto_reward=true").make().unwrapped._sutton_barto_reward
    for wrong in ("mass", "mass=", "=1.3", "1x=2"):
        with pytest.raises(ValueError, match="expected NAME=VALUE"):
            split_options(f"ilfo/Hopper-v0,{wrong}")
    for wrong in ("mass=1,2", "mass=os:system"):
        with pytest.raises(ValueError, match="neither ',' nor ':'"):
            with_options("ilfo/Hopper-v0", [wrong])
    with pytest.raises(ValueError, match="twice"):
        split_options("ilfo/Hopper-v0,mass=1,mass=2")
    with pytest.raises(ValueError, match="cannot be made with wind=3"):
        factory("CartPole-v1,wind=3")
