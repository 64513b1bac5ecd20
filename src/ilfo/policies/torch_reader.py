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
    splits: torch.Tensor
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
        x = observations.to(self.shift.dtype).reshape(given[0], math.prod(shape))
        if hasattr(self, "latent_shift"):
            latent = self._network(x, "latent_")
            chosen = torch.nn.functional.one_hot(latent.argmax(1), latent.shape[1])
            x = torch.cat([x, chosen.to(x.dtype)], 1)
        out = self._network(x, "")
        if hasattr(self, "splits"):
            entries = torch.tensor_split(out, self.splits.tolist(), 1)
            numbers = torch.stack([entry.argmax(1) for entry in entries], 1) + self.start
            return numbers.reshape(len(x), *self.shape.tolist()).to(self.like.dtype)
        share = (out.clamp(-1, 1) + 1) / 2 * (self.high - self.low)
        whole = not self.like.is_floating_point()
        actions = torch.clamp(self.low + (share.round() if whole else share), self.low, self.high)
        return actions.reshape(len(x), *self.shape.tolist()).to(self.like.dtype)

    def _network(self, x, prefix):
        x = (x - getattr(self, f"{prefix}shift")) / getattr(self, f"{prefix}scale")
        for layer, then in enumerate(getattr(self, f"{prefix}activations").tolist()):
            weight, bias = (getattr(self, f"{prefix}{kind}_{layer}") for kind in ("weight", "bias"))
            x = (torch.nn.Identity(), torch.tanh, torch.relu)[then](x @ weight + bias)
        return x
