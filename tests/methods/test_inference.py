"""Inferred actions: what the world and the forward model say of them, and what MobILE does then."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.callbacks import Callback
from ilfo.agents.method import LearningWarning
from ilfo.agents.seeds import one_seed
from ilfo.agents.selection import Pooled
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Passes
from ilfo.common.spaces import BoxActions
from ilfo.common.types import DemonstratedSteps, Normaliser, Transition
from ilfo.data.demonstrations import Demonstrations
from ilfo.discriminators.floor import Floor
from ilfo.dynamics.inverse import InverseDynamics, InverseEnsemble
from ilfo.environments.tasks import find_task
from ilfo.methods import mobile as module
from ilfo.methods.inference import PASSING, Inference, Inferred, Verdict, explained, verdict
from ilfo.methods.inferring import infer
from ilfo.methods.measuring import exploring, measure
from ilfo.methods.mobile import MobILE, MobILESettings
from ilfo.policies.mlp import MLPPolicy
from ilfo.runs.launch import start
from ilfo.runs.loading import load_best
from ilfo.runs.spec import apply_changes
from tests.helpers import agents as helpers
from tests.helpers.agents import STEP, bits, demonstrations, small_agent

ACTIONS = BoxActions((-1.0, -1.0), (1.0, 1.0), (2,))
SMALL = (
    *helpers.SMALL,
    "inference.inverse.members=2",
    "inference.inverse.member.width=8",
    "inference.inverse.member.depth=1",
    "inference.inverse.member.plan.passes=1",
    "inference.cloning.plan.passes=1",
    f"inference.explore={STEP}",
)
SETTINGS: MobILESettings = apply_changes(MobILESettings(), SMALL)


def pool(streams: int) -> Pooled:
    return Pooled.of_none(3).joined_by(jnp.ones(3), jnp.ones(()), jnp.zeros(streams), 0.5)


def judged(
    policy_mmd: float,
    clone_mmd: float,
    scatter: float,
    streams: int = 1,
    untrained_mmd: float = np.inf,
):
    floor = Floor(jnp.asarray(scatter), jnp.asarray(10.0))
    policy, clone, untrained = map(jnp.asarray, (policy_mmd, clone_mmd, untrained_mmd))
    return verdict(pool(streams), policy, pool(streams), clone, floor, untrained)


# The world as judge


def test_a_clone_is_worse_only_beyond_the_noise():
    assert bool(judged(0.2, 0.3, scatter=0.0).worse)
    assert not bool(judged(0.3, 0.2, scatter=0.0).worse)
    assert not bool(judged(0.2, 0.3, scatter=0.03).worse)  # 0.09 < 0.04 + 0.03 · 2
    assert bool(judged(0.2, 0.3, scatter=0.03, streams=4).worse)  # 0.09 > 0.04 + 0.03 / 2


@pytest.mark.parametrize(
    ("fields", "untrained", "decision"),
    [
        ({}, False, (0, 0.2)),
        ({}, True, (1, 1)),
        ({"judged": False}, False, (1, 1)),
        ({"start": False}, True, (0, 1)),
        ({"progress": False}, False, (0, 0.2)),
    ],
)
def test_what_follows_from_a_bad_verdict(fields, untrained, decision):
    bad = Verdict(*map(jnp.array, (True, 0.25, PASSING)))
    decided = Inference(**fields).decide(jnp.array(0.8), bad, jnp.array(untrained))
    assert tuple(map(float, decided)) == pytest.approx(decision)


def one_demonstration(policy_mmd: float, clone_mmd: float, apart: float):
    """With two streams each, whose own distances differ from the pooled one by `apart`."""
    floor = Floor(jnp.asarray(0.0), jnp.asarray(1.0))

    def pools(mmd):
        streams = jnp.sqrt(jnp.asarray([mmd**2 + apart, mmd**2 + apart]))
        return Pooled.of_none(3).joined_by(jnp.ones(3), jnp.ones(()), streams, 0.5)

    distances = (jnp.asarray(policy_mmd), jnp.asarray(clone_mmd))
    pools_of = (pools(policy_mmd), pools(clone_mmd))
    return verdict(pools_of[0], distances[0], pools_of[1], distances[1], floor, jnp.array(jnp.inf))


def test_with_one_demonstration_the_clone_has_to_be_nearer_than_noise_explains():
    """The variance of a stream is apart · 2, of a mean of two apart, of both together 2 · apart."""
    assert bool(one_demonstration(0.3, 0.3, apart=0.01).worse)
    assert bool(one_demonstration(0.3, 0.29, apart=0.01).worse)  # 0.0841 > 0.09 - 0.02
    assert not bool(one_demonstration(0.3, 0.25, apart=0.01).worse)  # 0.0625 < 0.07


def test_with_one_demonstration_the_clone_has_to_be_farther_than_noise_explains_to_lose_its_pull():
    evidence = lambda clone: float(one_demonstration(0.3, clone, apart=0.01).evidence)
    assert evidence(0.3) == pytest.approx(11 / 9, rel=1e-4)
    assert evidence(np.sqrt(0.11)) == pytest.approx(1, rel=1e-4)
    assert evidence(np.sqrt(0.22)) == pytest.approx(1 / 2, rel=1e-4)


def test_evidence_against_a_clone_adds_up_and_is_made_up_for():
    belief, beliefs = jnp.ones(()), []
    for clone in (0.1, 0.4, 0.4, 0.4, 0.4, 0.1, 0.1, 0.1):
        verdict_now = judged(0.2, clone, scatter=0.0)
        assert float(verdict_now.evidence) == pytest.approx(4 if clone == 0.1 else 1 / 4)
        _, belief = Inference(progress=False).decide(belief, verdict_now, jnp.array(False))
        beliefs.append(float(belief))
    assert beliefs == pytest.approx([1, 1 / 4, 1 / 16, 0.05, 0.05, 0.2, 0.8, 1])


def test_progress_is_the_share_of_the_way_from_the_untrained_policy_to_the_floor():
    """The squared floor of one episode and ten demonstrations is scatter · (1 + 1/10)."""
    progress = lambda clone, untrained: float(
        judged(0.5, clone, scatter=0.1, untrained_mmd=untrained).progress
    )
    assert progress(np.sqrt(0.11), 1.0) == pytest.approx(1)
    assert progress(np.sqrt(0.11 + 0.89 / 2), 1.0) == pytest.approx(1 / 2, rel=1e-5)
    assert progress(1.0, 1.0) == pytest.approx(0, abs=1e-6)
    assert progress(1.5, 1.0) == 0
    assert progress(0.1, 1.0) == 1
    assert progress(1.0, np.inf) == 1  # the untrained policy has not acted
    assert progress(1.0, 0.2) == 1  # it was at the floor: nothing can be said


def test_a_clone_that_comes_no_nearer_loses_its_pull_even_if_the_policy_is_no_better():
    belief, beliefs = jnp.ones(()), []
    for clone in (0.9, 0.9, 0.9, 0.1, 0.1, 0.1):
        verdict_now = judged(clone, clone, scatter=0.0, untrained_mmd=1.0)
        assert not bool(verdict_now.worse)
        _, belief = Inference().decide(belief, verdict_now, jnp.array(False))
        beliefs.append(float(belief))
    lost, regained = 0.19 / PASSING, 0.99 / PASSING
    assert beliefs[:3] == pytest.approx([lost, lost**2, 0.05], rel=1e-4)
    assert beliefs[3:] == pytest.approx([0.05 * regained**n for n in (1, 2, 3)], rel=1e-4)


@pytest.mark.parametrize(("belief", "starts"), [(0.2, True), (0.1, True), (0.06, False)])
def test_the_planner_starts_only_from_a_clone_that_is_believed(belief, starts):
    """This verdict is neutral: belief stays what it was."""
    verdict_now = Verdict(*map(jnp.array, (False, 1.0, PASSING)))
    started, after = Inference().decide(jnp.array(belief), verdict_now, jnp.array(False))
    assert bool(started) == starts
    assert float(after) == pytest.approx(belief)


# The forward model as witness


class Drift(eqx.Module):
    """Moves by the action; its members are apart by `apart`."""

    apart: float = 0.0
    members: int = eqx.field(static=True, default=2)

    def member(self, index):
        return Drift(jnp.where(index == 0, -self.apart, self.apart), 1)

    def mean(self, state, action):
        return state + action + self.apart


def demonstrated(moves: np.ndarray) -> DemonstratedSteps:
    before = np.random.default_rng(0).normal(size=moves.shape).astype(np.float32)
    return DemonstratedSteps.from_pairs(jnp.asarray(np.stack([before, before + moves], 1)))


def filled(moves: np.ndarray) -> Buffer:
    """A replay buffer whose transitions are these moves, which are also the actions."""
    states = np.random.default_rng(1).normal(size=moves.shape).astype(np.float32)
    rows = (states, np.clip(moves, -1, 1), states + moves, np.zeros(len(moves), bool))
    empty = Buffer.empty(Transition.zeros(2, ACTIONS), len(moves), 1, 1)
    return empty.push(Transition(*map(jnp.asarray, rows)), jnp.zeros(len(moves), bool))


MOVES = np.random.default_rng(2).uniform(-1, 1, (300, 2)).astype(np.float32)


def test_an_action_is_trusted_as_far_as_it_explains_the_step():
    steps, buffer = demonstrated(MOVES), filled(MOVES)
    trust = lambda actions, apart=0.0: explained(Drift(apart), buffer, steps, jnp.asarray(actions))
    assert np.allclose(trust(MOVES), 1, atol=1e-4)
    assert np.allclose(trust(0.5 * MOVES), 0.75, atol=1e-4)
    assert np.allclose(trust(-MOVES), 0)
    assert trust(MOVES, apart=0.3).mean() < 0.9


def test_members_of_the_inverse_model_infer_together():
    member = InverseDynamics(width=16, plan=Passes(passes=100))
    spec = InverseEnsemble(member, members=3)
    buffer = filled(MOVES)
    state, model, log = spec.fit(
        spec.init(2, ACTIONS, key=jax.random.key(0)), buffer, key=jax.random.key(1)
    )
    for seed in range(8):
        state, model, log = spec.fit(state, buffer, key=jax.random.key(seed))
    steps = demonstrated(MOVES)
    inferred = jax.vmap(model.infer)(steps.before, steps.after)
    assert float(log["inverse_accuracy"]) > 0.9
    assert np.abs(np.asarray(inferred) - MOVES).mean() < 0.15
    # far from anything seen the members disagree, and the mixture is wider
    width = lambda x: float(model.distribution(x, x + 0.1).log_std.mean())
    assert width(jnp.full(2, 30.0)) > width(jnp.zeros(2))


def test_a_pull_draws_states_with_their_actions_and_weights():
    steps = demonstrated(MOVES)
    pull = Inferred(steps.after, steps.before[:, 0], 0.2).draw(steps, key=jax.random.key(0))
    assert pull.scatter == 0.2
    assert np.allclose(pull.actions - pull.states, _moves_of(pull.states, steps))
    assert np.array_equal(pull.weight, pull.states[:, 0])


@pytest.mark.parametrize(("demonstrations", "strength"), [(1, 0.1), (4, 0.4), (5, 0.5), (40, 0.5)])
def test_few_demonstrations_pull_less(demonstrations, strength):
    spec, belief = Inference(pull=1.0, few=5), jnp.array(0.5)
    assert spec.strength(belief, jnp.array(demonstrations, float)) == pytest.approx(strength)


def test_few_demonstrated_steps_do_not_show_how_little_noise_there_is():
    policy, steps = MLPPolicy(initial_log_std=-0.5), demonstrated(MOVES)
    spec = Inference(noise_prior=2)
    assert spec.scatter(policy, steps) == pytest.approx(np.exp(-1.0) * 2 / len(MOVES))
    assert Inference(noise_prior=0).scatter(policy, steps) == 0
    assert Inference(noise_prior=10**6).scatter(policy, steps) == pytest.approx(np.exp(-1.0))


@pytest.mark.parametrize("fields", [{"initial_log_std": -9.0}, {"state_noise": True}])
def test_the_untrained_policy_has_the_variance_of_the_prior(fields):
    spec = MLPPolicy(log_std_min=-1.0, **fields)
    box = BoxActions((-1.0,), (1.0,), (1,))
    first = spec.init(2, box, Normaliser.identity(2), key=jax.random.key(0))
    said = first.distribution(jnp.zeros(2))
    assert np.allclose(jnp.exp(2 * said.log_std), spec.initial_variance, rtol=0.05)


def _moves_of(states, steps):
    known = {tuple(row): move for row, move in zip(np.asarray(steps.before), MOVES, strict=True)}
    return np.stack([known[tuple(row)] for row in np.asarray(states)])


# In MobILE


def inferring(expert=None, **more) -> MobILE:
    expert = demonstrations(3) if expert is None else expert
    return small_agent(expert=expert, settings=SETTINGS, **more)


class Logs(Callback):
    def __init__(self):
        self.logs: list[dict] = []

    def on_iteration(self, agent, log):
        self.logs.append(dict(log))


PULL = 3 / Inference().few
"""Largest strength of the pull with the three demonstrations."""


@pytest.fixture(scope="module")
def learned():
    logs = Logs()
    return inferring().learn(5 * STEP, logs), logs.logs


def test_the_untrained_policy_acts_first_and_then_both_share_the_streams(learned, monkeypatch):
    agent, _ = learned
    shares = []
    monkeypatch.setattr(module, "collect_rollout", lambda agent, sharing: shares.append(sharing))
    agent.interact()
    (own, mine), (other, clones) = shares.pop()
    assert own is agent.state.policy
    assert other is agent.state.inference.clone
    assert (mine, clones) == (1, 1)
    fresh = inferring()
    fresh._prepare()
    fresh.interact()
    ((untrained, streams),) = shares.pop()
    assert streams == 2
    assert bits(untrained) == bits(agent.state.inference.explorer) != bits(own)


def test_few_demonstrations_pull_less_in_training(learned):
    np.testing.assert_allclose(learned[1][0]["pull"], PULL)  # nothing speaks against the clone yet


def test_the_prior_is_that_of_clone_and_pull(learned, monkeypatch):
    agent, _ = learned
    settings, seen, fit = agent.settings.for_problem(agent.problem), [], Inference.fit

    def recorded(self, state, buffer, steps, scatter, *, key):
        seen.append(scatter)
        return fit(self, state, buffer, steps, scatter, key=key)

    monkeypatch.setattr(Inference, "fit", recorded)
    state, expert = one_seed(agent.state, 0), one_seed(agent._expert, 0)
    real = {"mmd": jnp.ones(()), "clone_mmd": jnp.ones(())}
    key = jax.random.key(0)
    _, inferred, _ = eqx.filter_eval_shape(
        lambda: infer(settings, agent.problem, state, expert, None, real, key=key)
    )
    prior = settings.inference.scatter(settings.policy, expert.steps)
    assert prior > 0
    assert seen == [prior] == [inferred.scatter]


def test_exploring_ends_with_its_environment_steps(learned):
    agent, _ = learned
    acting = [bool(exploring(agent.settings, agent.problem, number)) for number in range(3)]
    assert acting == [True, False, False]


def test_while_it_explores_the_newest_clone_is_chosen_and_nothing_counts():
    agent = inferring().learn(STEP)
    assert np.isinf(agent.choice().value).all()
    assert bits(agent.choice().policy) == bits(agent.state.inference.clone)
    assert float(agent.state.pools[0].weight.max()) == 0


def test_the_clone_starts_where_the_world_does_not_call_it_worse(learned):
    _, logs = learned
    assert np.all(logs[0]["clone_starts"] == 1)
    for log in logs[1:]:
        belief = log["pull"] / PULL
        nearer = (log["clone_mmd"] <= log["mmd"]) & (belief >= 0.1)
        assert np.all(log["clone_starts"][nearer] == 1)
        assert not np.any(log["clone_starts"][belief < 0.1])
    assert np.isfinite([log["mmd_floor"] for log in logs[1:]]).all()


def test_the_choice_has_a_distance_that_was_measured_and_knows_the_smallest(learned):
    agent, logs = learned
    seen = np.stack([[log["mmd"], log["clone_mmd"]] for log in logs[1:]])
    choice = agent.choice()
    np.testing.assert_allclose(choice.smallest, seen.min((0, 1)), rtol=1e-6)
    assert np.isclose(seen, choice.value, rtol=1e-6).any((0, 1)).all()


def fallen(agent, smallest: float, **changes):
    """The state of the first seed before and after its newest policy was measured, if the selected
    one had this distance; and the log."""
    settings = replace(agent.settings, **changes).for_problem(agent.problem)
    args = (agent.state, agent.interact(), agent._expert)
    state, rollout, expert = (one_seed(each, 0) for each in args)
    selected = replace(state.chosen, policy=state.inference.explorer, smallest=jnp.array(smallest))
    kept = jax.tree.map(jnp.zeros_like, state.kept)
    state = replace(state, chosen=selected, kept=kept)
    return state, *measure(settings, agent.problem, state, rollout, expert)


def test_the_planner_goes_back_to_the_selected_policy_where_the_newest_has_lost_much(learned):
    before, after, log = fallen(learned[0], smallest=0.0, floor=False)  # without noise
    assert float(log["fell_back"]) == 1
    assert bits(after.policy) == bits(before.chosen.policy) != bits(before.policy)
    assert bits(after.pools[0]) == bits(before.kept)
    assert float(log["mmd"]) > 0  # what was measured is told


@pytest.mark.parametrize(
    ("smallest", "changes"), [(9.0, {}), (0.0, {"floor": False, "fall_back": False})]
)
def test_the_planner_goes_on_from_its_own_policy_otherwise(learned, smallest, changes):
    before, after, log = fallen(learned[0], smallest, **changes)
    assert float(log["fell_back"]) == 0
    assert bits(after.policy) == bits(before.policy)
    assert bits(after.pools[0]) != bits(before.kept)


def test_the_features_of_the_selected_policy_are_kept_with_it(learned):
    before, after, _ = fallen(learned[0], smallest=9.0)
    assert bits(after.chosen.policy) != bits(before.chosen.policy)
    which = 0 if bits(after.chosen.policy) == bits(before.policy) else 1
    assert bits(after.kept) == bits(after.pools[which])


def test_a_saved_agent_goes_on_to_the_bit(learned, tmp_path):
    expected, _ = learned
    inferring().learn(3 * STEP).save(tmp_path / "agent.npz")
    loaded = MobILE.load(tmp_path / "agent.npz", "CartPole-v1", demonstrations(3))
    assert bits(loaded.learn(5 * STEP).state) == bits(expected.state)


def test_actions_in_the_file_make_no_difference(learned):
    with_actions = find_task("cartpole").load(3, actions=True)
    poisoned = Demonstrations.from_arrays(
        [trajectory.states for trajectory in with_actions],
        terminal=[trajectory.terminal for trajectory in with_actions],
        actions=[np.full(len(t.states) - 1, np.nan) for t in with_actions],
    )
    assert bits(inferring(poisoned).learn(5 * STEP).state) == bits(learned[0].state)


def test_a_feature_of_the_state_switches_inference_off():
    whole = list(demonstrations(3))
    shown = Demonstrations.from_arrays(
        [t.states[:, :2] for t in whole], terminal=[t.terminal for t in whole]
    )
    agent = inferring(shown, feature_map=lambda state: state[:2], seeds=1)
    with pytest.warns(LearningWarning, match="no actions were inferred"):
        agent.learn(2 * STEP)
    assert agent.state.inference is None
    assert len(agent.state.pools) == 1


def test_inference_needs_a_stream_for_the_clone():
    with pytest.raises(ValueError, match="inference needs a second stream"):
        replace(SETTINGS, streams=1)


def test_sizes_that_are_left_open_follow_from_horizon_and_dimension(learned):
    agent, _ = learned
    open_sizes = replace(SETTINGS, imagined_streams=None, buffer_horizons=None)
    sizes = {}
    for horizon, dim in ((20, 4), (50, 4), (400, 4), (1000, 4), (50, 1000)):
        problem = replace(agent.problem, horizon=horizon, state_dim=dim)
        settings = open_sizes.for_problem(problem)
        buffer, critic = settings.empty_buffer(problem), settings.planner.critic
        per_pass, kept = buffer.per_pass, buffer.recent.capacity
        sizes[horizon, dim] = (settings.imagined_streams, per_pass, kept, critic.discount)
    assert sizes == {
        (20, 4): (128, 6_400, 19_200, 0.8),
        (50, 4): (128, 6_400, 19_200, 0.9),
        (400, 4): (16, 12_800, 38_400, 1 - 5 / 400),
        (1000, 4): (16, 32_000, 96_000, 1 - 5 / 1000),
        (50, 1000): (31, 1_600, 4_800, 0.9),
    }


def test_the_clone_is_a_mean_over_the_fits():
    """The first fit is all of it, of two the second counts for 4/5, of three the third for 2/3."""
    agent = inferring()
    clones, fits = [], []

    class Watch(Callback):
        def on_iteration(self, agent, log):
            kept = agent.state.inference
            clones.append(jax.tree.leaves(eqx.filter(kept.clone, eqx.is_inexact_array)))
            fits.append(jax.tree.leaves(eqx.filter(kept.fitted, eqx.is_inexact_array)))

    agent.learn(3 * STEP, Watch())
    means = [*fits[0]]
    for share, clone, fit in zip((1, 4 / 5, 2 / 3), clones, fits, strict=True):
        means = [(1 - share) * mean + share * new for mean, new in zip(means, fit, strict=True)]
        for mean, acting in zip(means, clone, strict=True):
            np.testing.assert_allclose(acting, mean, rtol=1e-4, atol=1e-6)
    assert bits(fits[1]) != bits(clones[1])


def test_the_best_agent_on_disk_is_the_one_that_was_chosen(tmp_path):
    """Also if the first policies that acted are chosen, right after the untrained one explored."""
    demonstrations().save(tmp_path / "demos.npz")
    spec = helpers.small_spec(tmp_path / "demos.npz", 2, seeds=1, changes=SMALL)
    run = tmp_path / "run"
    choices = []
    start(spec, run, helpers.MACHINE, [lambda agent, _: choices.append(agent.choice())])
    assert np.isfinite(choices[-1].value).all()
    assert bits(load_best(run).choice()) == bits(choices[-1])
