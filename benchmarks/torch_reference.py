"""One MobILE outer iteration in eager PyTorch, phase by phase.

This is the tuned yardstick for the compiled JAX version: the same work (`benchmarks/sizes.py`) on
synthetic transitions, written the way one writes fast eager PyTorch. Where eager mode offered a
choice, the faster variant was measured and taken. `benchmarks/torch_plain.py` replaces the phases
that one would write differently without that care, and shares the others. Run alone to print the
times of the tuned version:

    python -m benchmarks.torch_reference

The amount of work does not depend on the data, except in one place: the line search stops at the
first step that it accepts. Rollouts never end early, conjugate gradients run all their iterations.

Shapes: M members, P = streams / M streams per member, T = horizon, S = state_dim, A = action_dim.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from benchmarks.sizes import CARTPOLE, HOPPER, Sizes, dynamics_flops

DYNAMICS_RATE, DYNAMICS_MOMENTUM = 0.005, 0.99
CRITIC_RATE = 1e-3
BONUS_WEIGHT = 0.1  # the paper's lambda, which its table omits
LOG_STD_START, LOG_STD_MIN = -0.5, -1.0
BACKTRACKS, BACKTRACK_FACTOR = 10, 0.5
EXPERT_STATES = 4000

Parameters = tuple[Tensor, ...]
"""Parameters of a policy's distribution: (log-probabilities,) or (mean, log std)."""


def mlp(sizes: list[int], activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


def policy_net(sizes: Sizes) -> nn.Sequential:
    width = sizes.policy_width
    net = mlp([sizes.state_dim, width, width, sizes.action_dim], nn.Tanh)
    with torch.no_grad():
        for parameter in net[-1].parameters():
            parameter.mul_(0.01)
    return net


class Categorical(nn.Module):
    one_hot: Tensor

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.net = policy_net(sizes)
        self.register_buffer("one_hot", torch.eye(sizes.action_dim))

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Gumbel noise: the largest of logits + noise is a sample."""
        return torch.empty(shape).exponential_(generator=generator).log_().neg_()

    def sample(self, states: Tensor, noise: Tensor) -> Tensor:
        return (self.net(states) + noise).argmax(-1)

    def encode(self, actions: Tensor) -> Tensor:
        return self.one_hot[actions]

    def forward(self, states: Tensor) -> Parameters:
        return (self.net(states).log_softmax(-1),)

    def log_prob(self, parameters: Parameters, actions: Tensor) -> Tensor:
        return parameters[0].gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def kl(self, old: Parameters, new: Parameters) -> Tensor:
        return (old[0].exp() * (old[0] - new[0])).sum(-1).mean()


class Gaussian(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.net = policy_net(sizes)
        self.log_std = nn.Parameter(torch.full((sizes.action_dim,), LOG_STD_START))

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Already scaled, since the standard deviation does not depend on the state."""
        scale = self.log_std.clamp_min(LOG_STD_MIN).exp()
        return torch.randn(shape, generator=generator) * scale

    def sample(self, states: Tensor, noise: Tensor) -> Tensor:
        return self.net(states) + noise

    def encode(self, actions: Tensor) -> Tensor:
        return actions.clamp(-1.0, 1.0)

    def forward(self, states: Tensor) -> Parameters:
        return self.net(states), self.log_std.clamp_min(LOG_STD_MIN)

    def log_prob(self, parameters: Parameters, actions: Tensor) -> Tensor:
        """Up to a constant, which cancels in every ratio."""
        mean, log_std = parameters
        return (-0.5 * ((actions - mean) / log_std.exp()).square() - log_std).sum(-1)

    def kl(self, old: Parameters, new: Parameters) -> Tensor:
        (mean, log_std), (new_mean, new_log_std) = old, new
        spread = (2 * log_std).exp() + (mean - new_mean).square()
        terms = new_log_std - log_std + 0.5 * spread / (2 * new_log_std).exp() - 0.5
        return terms.sum(-1).mean()


@dataclass
class Dynamics(ABC):
    """Members that predict the next state; subclasses decide how weights are stored."""

    input_mean: Tensor
    input_std: Tensor
    difference_std: Tensor

    def normalise(self, states: Tensor, actions: Tensor) -> Tensor:
        return (torch.cat([states, actions], -1) - self.input_mean) / self.input_std

    @property
    @abstractmethod
    def members(self) -> int: ...

    @abstractmethod
    def member(self, index: int, inputs: Tensor) -> Tensor:
        """One member's network: normalised inputs [N, S + A] to normalised differences [N, S]."""

    @abstractmethod
    def mean(self, states: Tensor, actions: Tensor) -> Tensor:
        """Next state h(s, a) = s + std_delta * network, [M, N, S]; each member has its own N."""


@dataclass
class Ensemble(Dynamics):
    """All members in one set of tensors: weights [M, inputs, outputs], biases [M, 1, outputs].

    One `baddbmm` per layer beat a loop over `nn.Linear` members in eager mode: a training step
    took 0.9 against 1.5 ms at CartPole's sizes (one thread), 7.0 against 8.3 at Hopper's (two).
    """

    weights: list[Tensor]
    biases: list[Tensor]

    @property
    def members(self) -> int:
        return len(self.weights[0])

    @property
    def parameters(self) -> list[Tensor]:
        return self.weights + self.biases

    def network(self, inputs: Tensor) -> Tensor:
        """Normalised inputs [M, N, S + A] to normalised differences [M, N, S]."""
        hidden = inputs
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = torch.baddbmm(bias, hidden, weight).relu()
        return torch.baddbmm(self.biases[-1], hidden, self.weights[-1])

    def member(self, index: int, inputs: Tensor) -> Tensor:
        hidden = inputs
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = torch.addmm(bias[index], hidden, weight[index]).relu()
        return torch.addmm(self.biases[-1][index], hidden, self.weights[-1][index])

    def mean(self, states: Tensor, actions: Tensor) -> Tensor:
        outputs = self.network(self.normalise(states, actions))
        return torch.addcmul(states, outputs, self.difference_std)


@dataclass
class State:
    """What the tuned and the plain version have in common."""

    sizes: Sizes
    generator: torch.Generator
    states: Tensor
    actions: Tensor
    next_states: Tensor
    dynamics: Dynamics
    frequencies: Tensor
    phases: Tensor
    expert_feature: Tensor
    policy: Categorical | Gaussian
    critic: nn.Sequential
    critic_optimizer: torch.optim.Optimizer


@dataclass
class TunedState(State):
    dynamics: Ensemble
    dynamics_optimizer: torch.optim.Optimizer
    gae_weights: Tensor


@dataclass
class Batch:
    """Imagined trajectories, time first; later phases fill in costs and advantages."""

    states: Tensor  # [T + 1, streams, S]
    actions: Tensor  # as sampled: [T, streams] or [T, streams, A]
    inputs: Tensor  # as given to the model: [T, streams, A]
    cost: Tensor = field(default_factory=lambda: torch.empty(0))  # [T, streams]
    advantages: Tensor = field(default_factory=lambda: torch.empty(0))  # [T, streams]


def make_ensemble(sizes: Sizes, generator: torch.Generator) -> Ensemble:
    def uniform(*shape: int, bound: float) -> Tensor:
        values = (2 * torch.rand(shape, generator=generator) - 1) * bound
        return values.requires_grad_()

    weights, biases = [], []
    for inputs, outputs in pairwise(sizes.dynamics_layers):
        weights.append(uniform(sizes.members, inputs, outputs, bound=inputs**-0.5))
        biases.append(uniform(sizes.members, 1, outputs, bound=inputs**-0.5))
    with torch.no_grad():
        # A small last layer keeps rollouts of an untrained model finite.
        weights[-1].mul_(0.01)
        biases[-1].mul_(0.01)
    return Ensemble(
        weights=weights,
        biases=biases,
        input_mean=torch.zeros(sizes.state_dim + sizes.action_dim),
        input_std=torch.ones(sizes.state_dim + sizes.action_dim),
        difference_std=torch.ones(sizes.state_dim),
    )


def synthetic_transitions(
    sizes: Sizes, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """A contracting linear system with noise, so that rollouts of its model stay bounded."""
    states = torch.randn(sizes.buffer, sizes.state_dim, generator=generator)
    if sizes.discrete:
        chosen = torch.randint(sizes.action_dim, (sizes.buffer,), generator=generator)
        actions = torch.eye(sizes.action_dim)[chosen]
    else:
        actions = 2 * torch.rand(sizes.buffer, sizes.action_dim, generator=generator) - 1
    push = torch.randn(sizes.action_dim, sizes.state_dim, generator=generator)
    noise = torch.randn(sizes.buffer, sizes.state_dim, generator=generator)
    return states, actions, 0.95 * states + 0.1 * actions @ push + 0.01 * noise


def make_state(sizes: Sizes, seed: int) -> TunedState:
    torch.manual_seed(seed)  # nn.Linear draws its weights from the global generator
    generator = torch.Generator().manual_seed(seed)
    states, actions, next_states = synthetic_transitions(sizes, generator)
    dynamics = make_ensemble(sizes, generator)
    policy = Categorical(sizes) if sizes.discrete else Gaussian(sizes)
    critic = mlp([sizes.state_dim, sizes.critic_width, sizes.critic_width, 1], nn.ReLU)

    expert = 0.5 + 0.5 * torch.randn(EXPERT_STATES, sizes.state_dim, generator=generator)
    bandwidth = torch.pdist(expert[:500]).quantile(0.1)
    frequencies = torch.randn(sizes.state_dim, sizes.features, generator=generator) / bandwidth
    phases = 2 * torch.pi * torch.rand(sizes.features, generator=generator)

    steps = torch.arange(sizes.horizon)
    age = steps - steps.unsqueeze(1)
    discount = sizes.gamma * sizes.gae_lambda
    return TunedState(
        sizes=sizes,
        generator=generator,
        states=states,
        actions=actions,
        next_states=next_states,
        dynamics=dynamics,
        dynamics_optimizer=torch.optim.SGD(
            dynamics.parameters,
            lr=DYNAMICS_RATE,
            momentum=DYNAMICS_MOMENTUM,
            nesterov=True,
            fused=True,
        ),
        frequencies=frequencies,
        phases=phases,
        expert_feature=fourier(expert, frequencies, phases).mean(0),
        policy=policy,
        critic=critic,
        critic_optimizer=torch.optim.Adam(critic.parameters(), lr=CRITIC_RATE, fused=True),
        gae_weights=(discount ** age.clamp_min(0)) * (age >= 0),
    )


def fit_dynamics(state: TunedState) -> Tensor:
    """Train every member on its own shuffles of the buffer; the last losses, [M]."""
    sizes, model = state.sizes, state.dynamics
    inputs, targets = renew_statistics(state)
    used = sizes.minibatches * sizes.batch
    for _ in range(sizes.passes):
        order = torch.rand(sizes.members, sizes.buffer, generator=state.generator).argsort(-1)
        order = order[:, :used].view(sizes.members, sizes.minibatches, sizes.batch)
        order = order.transpose(0, 1)
        for x, y in zip(inputs[order], targets[order], strict=True):
            losses = (model.network(x) - y).square().mean((1, 2))
            state.dynamics_optimizer.zero_grad()
            # A member's loss depends on its own weights only: the sum trains them independently.
            losses.sum().backward()
            clip_member_gradients(model.parameters, sizes.clip)
            state.dynamics_optimizer.step()
    return losses.detach()


def renew_statistics(state: State) -> tuple[Tensor, Tensor]:
    """Recompute the model's normalisation from the buffer; its normalised inputs and targets."""
    model = state.dynamics
    inputs = torch.cat([state.states, state.actions], -1)
    differences = state.next_states - state.states
    model.input_mean, model.input_std = inputs.mean(0), inputs.std(0).clamp_min(1e-6)
    model.difference_std = differences.std(0).clamp_min(1e-6)
    return model.normalise(state.states, state.actions), differences / model.difference_std


@torch.no_grad()
def clip_member_gradients(parameters: list[Tensor], bound: float) -> None:
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)
    scale = (bound / norms.clamp_min(1e-12)).clamp_max(1.0).view(-1, 1, 1)
    for gradient in gradients:
        gradient.mul_(scale)


@torch.no_grad()
def imagine(state: State) -> Batch:
    """Roll the policy out in the model: H steps, with the same number of streams per member."""
    sizes = state.sizes
    starts = draw_starts(state)
    shape = (sizes.horizon, *starts.shape[:-1], sizes.action_dim)
    return roll_out(state, starts, state.policy.noise(shape, state.generator))


def draw_starts(state: State) -> Tensor:
    """States from the buffer, [M, P, S]."""
    sizes = state.sizes
    lanes = (sizes.members, sizes.streams // sizes.members)
    return state.states[torch.randint(sizes.buffer, lanes, generator=state.generator)]


@torch.no_grad()
def roll_out(state: State, starts: Tensor, noise: Iterable[Tensor]) -> Batch:
    """From `starts`, one step for each of the policy's noises [M, P, A]."""
    policy, now = state.policy, starts
    states, actions, inputs = [now], [], []
    for step_noise in noise:
        action = policy.sample(now, step_noise)
        encoded = policy.encode(action)
        now = state.dynamics.mean(now, encoded)
        states.append(now)
        actions.append(action)
        inputs.append(encoded)
    return Batch(*(torch.stack(steps).flatten(1, 2) for steps in (states, actions, inputs)))


def fourier(states: Tensor, frequencies: Tensor, phases: Tensor) -> Tensor:
    scale = (2 / len(phases)) ** 0.5
    return torch.cos(states @ frequencies + phases) * scale


@torch.no_grad()
def disagreement(model: Dynamics, states: Tensor, actions: Tensor) -> Tensor:
    """Largest distance between two members' predictions, [N]."""
    members = model.members
    inputs = model.normalise(states, actions)
    # On thousands of rows, unlike on a minibatch, the loop over members is the faster way: 3 ms
    # against 6 over CartPole's buffer, 118 against 125 over Hopper's (one thread).
    outputs = torch.stack([model.member(index, inputs) for index in range(members)])
    first, second = torch.triu_indices(members, members, offset=1)
    gaps = (outputs[first] - outputs[second]) * model.difference_std
    return gaps.norm(dim=-1).amax(0)


def bonus_scale(state: State) -> Tensor:
    """The largest disagreement over the buffer."""
    return disagreement(state.dynamics, state.states, state.actions).max()


@torch.no_grad()
def discriminator_and_bonus(state: State, batch: Batch, scale: Tensor | None = None) -> Batch:
    """Fit w in closed form and price the batch: (1 - lambda) clip(f) - lambda min(1, d / d_D).

    The scale d_D changes with the dynamics model only. It is computed here when not given.
    """
    states, inputs = batch.states[:-1].flatten(0, 1), batch.inputs.flatten(0, 1)
    features = fourier(states, state.frequencies, state.phases)
    gap = features.mean(0) - state.expert_feature
    f = features @ (gap / gap.norm().clamp_min(1e-12))
    if scale is None:
        scale = bonus_scale(state)
    bonus = (disagreement(state.dynamics, states, inputs) / scale).clamp_max(1.0)
    cost = (1 - BONUS_WEIGHT) * f.clamp(-1.0, 1.0) - BONUS_WEIGHT * bonus
    return replace(batch, cost=cost.view(batch.states[:-1].shape[:-1]))


def critic(state: TunedState, batch: Batch) -> Batch:
    """Advantages under the old critic, then regression on the lambda-returns."""
    sizes = state.sizes
    with torch.no_grad():
        values = state.critic(batch.states).squeeze(-1)
        errors = sizes.gamma * values[1:] - batch.cost - values[:-1]
        # Rollouts do not end early, so the backward recursion is one triangular product.
        advantages = state.gae_weights @ errors
        returns = (advantages + values[:-1]).flatten()
    states = batch.states[:-1].flatten(0, 1)
    used = sizes.critic_minibatches * sizes.critic_batch
    for _ in range(sizes.critic_passes):
        order = torch.randperm(sizes.samples, generator=state.generator)[:used]
        order = order.view(-1, sizes.critic_batch)
        for x, y in zip(states[order], returns[order], strict=True):
            state.critic_optimizer.zero_grad()
            nn.functional.mse_loss(state.critic(x).squeeze(-1), y).backward()
            state.critic_optimizer.step()
    return replace(batch, advantages=advantages)


def flatten(gradients: Parameters) -> Tensor:
    return torch.cat([g.reshape(-1) for g in gradients])


def conjugate_gradients(product: Callable[[Tensor], Tensor], b: Tensor, iterations: int) -> Tensor:
    x, residual, direction = torch.zeros_like(b), b, b
    squared = residual @ residual
    for _ in range(iterations):
        image = product(direction)
        step = squared / (direction @ image).clamp_min(1e-20)
        x = x + step * direction
        residual = residual - step * image
        renewed = residual @ residual
        direction = residual + renewed / squared.clamp_min(1e-20) * direction
        squared = renewed
    return x


def planner(state: State, batch: Batch) -> int:
    """One TRPO step; returns the tries of the line search, 0 if it accepted none."""
    sizes, policy = state.sizes, state.policy
    states, actions = batch.states[:-1].flatten(0, 1), batch.actions.flatten(0, 1)
    advantages = batch.advantages.flatten()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    parameters = list(policy.parameters())
    current = policy(states)
    old = tuple(p.detach() for p in current)
    old_log_prob = policy.log_prob(old, actions)

    def surrogate(new: Parameters) -> Tensor:
        ratio = (policy.log_prob(new, actions) - old_log_prob).exp()
        return (ratio * advantages).mean()

    before = surrogate(current)
    gradient = flatten(torch.autograd.grad(before, parameters, retain_graph=True))
    # The graph of the KL's gradient is built once; every product walks it backward again.
    slope = flatten(torch.autograd.grad(policy.kl(old, current), parameters, create_graph=True))

    def fisher(vector: Tensor) -> Tensor:
        product = flatten(torch.autograd.grad(slope @ vector, parameters, retain_graph=True))
        return product + sizes.damping * vector

    direction = conjugate_gradients(fisher, gradient, sizes.cg_iterations)
    curvature = (direction @ fisher(direction)).clamp_min(1e-20)
    step = (2 * sizes.kl / curvature).sqrt() * direction

    with torch.no_grad():
        start = parameters_to_vector(parameters)
        for tried in range(BACKTRACKS):
            vector_to_parameters(start + BACKTRACK_FACTOR**tried * step, parameters)
            new = policy(states)
            if surrogate(new) > before and policy.kl(old, new) <= sizes.kl:
                return tried + 1
        vector_to_parameters(start, parameters)
    return 0


@torch.no_grad()
def act(state: State, observations: Tensor) -> Tensor:
    """Sampled actions for observations [N, S]: indices [N], or [N, A] within [-1, 1]."""
    noise = state.policy.noise((len(observations), state.sizes.action_dim), state.generator)
    actions = state.policy.sample(observations, noise)
    return actions if state.sizes.discrete else state.policy.encode(actions)


def iteration(state: TunedState) -> None:
    """One iteration without the collection of real transitions."""
    fit_dynamics(state)
    scale = bonus_scale(state)
    for _ in range(state.sizes.policy_steps):
        batch = imagine(state)
        batch = discriminator_and_bonus(state, batch, scale)
        batch = critic(state, batch)
        planner(state, batch)


def phases(sizes: Sizes, seed: int) -> dict[str, Callable[[], None]]:
    """The phases by name, each of them ready to be called and timed any number of times.

    `fit_dynamics` and `iteration` are per outer iteration, the others per policy step.
    """
    state = make_state(sizes, seed)
    batch = critic(state, discriminator_and_bonus(state, imagine(state)))
    start = parameters_to_vector(state.policy.parameters()).detach()

    def plan() -> None:
        # Always from the same policy: repeated steps on one batch would leave its support.
        vector_to_parameters(start, state.policy.parameters())
        planner(state, batch)

    def discard(phase: Callable[..., object], *arguments: object) -> Callable[[], None]:
        def run() -> None:
            phase(*arguments)

        return run

    return {
        "fit_dynamics": discard(fit_dynamics, state),
        "imagine": discard(imagine, state),
        "discriminator_and_bonus": discard(discriminator_and_bonus, state, batch),
        "critic": discard(critic, state, batch),
        "planner": plan,
        "iteration": discard(iteration, state),
    }


def main() -> None:
    for name, sizes in {"CartPole": CARTPOLE, "Hopper": HOPPER}.items():
        print(f"{name}, {torch.get_num_threads()} threads")
        for phase, run in phases(sizes, seed=0).items():
            repeats = 1 if phase in ("fit_dynamics", "iteration") else 4
            seconds = []
            for _ in range(repeats):
                begin = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - begin)
            rate = dynamics_flops(sizes) / min(seconds) / 1e9
            note = f"  ({rate:.0f} GFLOP/s)" if phase == "fit_dynamics" else ""
            print(f"  {phase:24s} {1e3 * min(seconds):10.1f} ms{note}", flush=True)


if __name__ == "__main__":
    main()
