"""Acts with a policy that `ilfo export RUN policy.pt` wrote. It needs PyTorch and nothing else:
copy this file to wherever the policy is to act or to be trained further."""

import math

import torch


class Policy(torch.nn.Module):
    """`Policy(torch.load("policy.pt", weights_only=True))(observation)` is the most likely action
    for one observation, or those of a batch, in the environment's units."""

    observation_shape: torch.Tensor
    shift: torch.Tensor
    start: torch.Tensor
    counts: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor
    shape: torch.Tensor
    like: torch.Tensor

    def __init__(self, state):
        super().__init__()
        for name, value in state.items():
            if "weight" in name or "bias" in name:
                self.register_parameter(name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def forward(self, observations):
        shape, given = self.observation_shape.tolist(), list(observations.shape)
        if given == shape:
            return self(observations[None])[0]
        if given[1:] != shape:
            raise ValueError(f"an observation of shape {given}, not {shape} or a batch of it")
        x = observations.to(self.shift.dtype).reshape(-1, math.prod(shape))
        if hasattr(self, "latent_shift"):
            latent = self._network(x, "latent_")
            chosen = torch.nn.functional.one_hot(latent.argmax(1), latent.shape[1])
            x = torch.cat([x, chosen.to(x.dtype)], 1)
        out = self._network(x, "")
        if hasattr(self, "counts"):
            entries = torch.split(out, self.counts.tolist(), 1)
            numbers = torch.stack([entry.argmax(1) for entry in entries], 1) + self.start
            return numbers.reshape(-1, *self.shape.tolist()).to(self.like.dtype)
        if hasattr(self, "start"):
            return out.argmax(1) + self.start
        share = (out.clamp(-1, 1) + 1) / 2 * (self.high - self.low)
        whole = not self.like.is_floating_point()
        actions = torch.clamp(self.low + (share.round() if whole else share), self.low, self.high)
        return actions.reshape(-1, *self.shape.tolist()).to(self.like.dtype)

    def _network(self, x, prefix):
        x, layer = (x - getattr(self, f"{prefix}shift")) / getattr(self, f"{prefix}scale"), 0
        while True:
            weight = getattr(self, f"{prefix}weight_{layer}")
            x = x @ weight + getattr(self, f"{prefix}bias_{layer}")
            layer += 1
            squashed = hasattr(self, f"{prefix}squashed")
            if not hasattr(self, f"{prefix}weight_{layer}"):
                return torch.tanh(x) if squashed else x
            x = torch.relu(x) if squashed else torch.tanh(x)
