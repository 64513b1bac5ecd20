"""One MobILE outer iteration in plain eager PyTorch: the way most people would write it.

The same work as in `benchmarks/torch_reference.py`, from the same weights on the same transitions.
This file has only what differs in code that is not tuned:

- Each member is an `nn.Sequential` with an optimiser of its own, trained one after the other.
- In rollouts each member predicts its own streams, and every step draws its own noise.
- Advantages come from a backward loop over time.
- Optimisers are PyTorch's default implementation, gradients are clipped by its own function.

The rest is shared with the tuned version: policy, discriminator, bonus and planner. Plain code
often does more arithmetic; this one does not. In particular, products with the Fisher matrix do not
recompute the gradient of the KL each time.

Shapes: M members, P = streams / M streams per member, T = horizon, S = state_dim, A = action_dim.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_

from benchmarks import torch_reference as tuned
from benchmarks.sizes import Sizes
from benchmarks.torch_reference import Batch, Dynamics, Ensemble, State


@dataclass
class Members(Dynamics):
    nets: nn.ModuleList

    @property
    def members(self) -> int:
        return len(self.nets)

    def member(self, index: int, inputs: Tensor) -> Tensor:
        return self.nets[index](inputs)

    def mean(self, states: Tensor, actions: Tensor) -> Tensor:
        inputs = self.normalise(states, actions)
        outputs = [net(x) for net, x in zip(self.nets, inputs, strict=True)]
        return states + self.difference_std * torch.stack(outputs)


@dataclass
class PlainState(State):
    dynamics: Members
    dynamics_optimizers: list[torch.optim.Optimizer]


def unstack(ensemble: Ensemble, sizes: Sizes) -> Members:
    """Members with the weights of `ensemble`."""
    nets = [tuned.mlp(list(sizes.dynamics_layers), nn.ReLU) for _ in range(sizes.members)]
    with torch.no_grad():
        for index, net in enumerate(nets):
            linears = [layer for layer in net if isinstance(layer, nn.Linear)]
            stacked = zip(ensemble.weights, ensemble.biases, strict=True)
            for linear, (weight, bias) in zip(linears, stacked, strict=True):
                linear.weight.copy_(weight[index].T)
                linear.bias.copy_(bias[index, 0])
    return Members(
        input_mean=ensemble.input_mean,
        input_std=ensemble.input_std,
        difference_std=ensemble.difference_std,
        nets=nn.ModuleList(nets),
    )


def make_state(sizes: Sizes, seed: int) -> PlainState:
    """With the tuned version's transitions and weights."""
    same = tuned.make_state(sizes, seed)
    dynamics = unstack(same.dynamics, sizes)
    return PlainState(
        sizes=sizes,
        generator=same.generator,
        states=same.states,
        actions=same.actions,
        next_states=same.next_states,
        dynamics=dynamics,
        dynamics_optimizers=[
            torch.optim.SGD(
                net.parameters(),
                lr=tuned.DYNAMICS_RATE,
                momentum=tuned.DYNAMICS_MOMENTUM,
                nesterov=True,
            )
            for net in dynamics.nets
        ],
        frequencies=same.frequencies,
        phases=same.phases,
        expert_feature=same.expert_feature,
        policy=same.policy,
        critic=same.critic,
        critic_optimizer=torch.optim.Adam(same.critic.parameters(), lr=tuned.CRITIC_RATE),
    )


def fit_dynamics(state: PlainState) -> Tensor:
    """Train one member after the other; the last losses, [M]."""
    sizes = state.sizes
    inputs, targets = tuned.renew_statistics(state)
    losses = []
    for net, optimizer in zip(state.dynamics.nets, state.dynamics_optimizers, strict=True):
        for _ in range(sizes.passes):
            order = torch.randperm(sizes.buffer, generator=state.generator)
            for step in range(sizes.minibatches):
                chosen = order[step * sizes.batch : (step + 1) * sizes.batch]
                loss = mse_loss(net(inputs[chosen]), targets[chosen])
                optimizer.zero_grad()
                loss.backward()
                clip_grad_norm_(net.parameters(), sizes.clip)
                optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


@torch.no_grad()
def imagine(state: PlainState) -> Batch:
    """Roll the policy out in the model: H steps, with the same number of streams per member."""
    sizes = state.sizes
    starts = tuned.draw_starts(state)
    shape = (*starts.shape[:-1], sizes.action_dim)
    noise = (state.policy.noise(shape, state.generator) for _ in range(sizes.horizon))
    return tuned.roll_out(state, starts, noise)


def critic(state: PlainState, batch: Batch) -> Batch:
    """Advantages under the old critic, then regression on the lambda-returns."""
    sizes = state.sizes
    with torch.no_grad():
        values = state.critic(batch.states).squeeze(-1)
        errors = sizes.gamma * values[1:] - batch.cost - values[:-1]
        advantages = torch.empty_like(errors)
        advantage = torch.zeros(sizes.streams)
        for step in reversed(range(sizes.horizon)):
            advantage = errors[step] + sizes.gamma * sizes.gae_lambda * advantage
            advantages[step] = advantage
        returns = (advantages + values[:-1]).flatten()
    states = batch.states[:-1].flatten(0, 1)
    for _ in range(sizes.critic_passes):
        order = torch.randperm(sizes.samples, generator=state.generator)
        for step in range(sizes.critic_minibatches):
            chosen = order[step * sizes.critic_batch : (step + 1) * sizes.critic_batch]
            loss = mse_loss(state.critic(states[chosen]).squeeze(-1), returns[chosen])
            state.critic_optimizer.zero_grad()
            loss.backward()
            state.critic_optimizer.step()
    return replace(batch, advantages=advantages)


def iteration(state: PlainState) -> None:
    """One iteration without the collection of real transitions."""
    fit_dynamics(state)
    scale = tuned.bonus_scale(state)
    for _ in range(state.sizes.policy_steps):
        batch = imagine(state)
        batch = tuned.discriminator_and_bonus(state, batch, scale)
        batch = critic(state, batch)
        tuned.planner(state, batch)


def check_same(sizes: Sizes, seed: int = 0) -> None:
    """Raise unless the plain and the tuned version compute the same, phase by phase.

    The check uses few samples, and minibatches that are the whole data, so that it does not matter
    that the versions shuffle differently. The bound on gradients is low enough to take effect.
    """
    horizon = min(sizes.horizon, 20)
    small = replace(
        sizes,
        buffer=sizes.batch,
        passes=20,
        clip=0.1,
        horizon=horizon,
        critic_batch=horizon * sizes.streams,
        critic_passes=20,
    )
    mine, other = make_state(small, seed), tuned.make_state(small, seed)

    def close(what: str, actual: object, expected: object) -> None:
        torch.testing.assert_close(
            actual, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{what}: {text}"
        )

    close("losses", fit_dynamics(mine), tuned.fit_dynamics(other))
    trained = unstack(other.dynamics, small)
    close("dynamics", list(mine.dynamics.nets.parameters()), list(trained.nets.parameters()))

    starts = tuned.draw_starts(other)
    shape = (horizon, *starts.shape[:-1], small.action_dim)
    noise = other.policy.noise(shape, other.generator).detach()
    batch = tuned.roll_out(mine, starts, noise)
    expected = tuned.roll_out(other, starts, noise)
    close("rollout", (batch.states, batch.inputs), (expected.states, expected.inputs))

    batch = critic(mine, tuned.discriminator_and_bonus(mine, batch))
    expected = tuned.critic(other, tuned.discriminator_and_bonus(other, expected))
    close("cost", batch.cost, expected.cost)
    close("advantages", batch.advantages, expected.advantages)
    close("critic", list(mine.critic.parameters()), list(other.critic.parameters()))
