"""Acts with a policy that `ilfo export RUN policy.npz` wrote. It needs NumPy and nothing else: copy
this file to wherever the policy is to act."""

import numpy as np


class Policy:
    """`Policy("policy.npz")(observation)` is the most likely action for one observation, or those
    of a batch, in the environment's units."""

    def __init__(self, path):
        self.arrays = dict(np.load(path))

    def __call__(self, observation):
        a, x = self.arrays, np.asarray(observation, np.float32)
        shape = tuple(a["observation_shape"].tolist())
        if x.shape == shape:
            return self(x[None])[0]
        if x.shape[1:] != shape:
            raise ValueError(f"an observation of shape {x.shape}, not {shape} or a batch of it")
        x = x.reshape(len(x), int(np.prod(shape)))
        if "latent_shift" in a:
            logits = self.network(x, "latent_")
            x = np.hstack([x, np.eye(logits.shape[1])[logits.argmax(1)]])
        out = self.network(x)
        if "splits" in a:
            out = np.stack([n.argmax(1) for n in np.split(out, a["splits"], 1)], 1) + a["start"]
        else:
            share = (np.clip(out, -1, 1) + 1) / 2 * (a["high"] - a["low"])
            share = np.rint(share) if a["like"].dtype.kind in "iu" else share
            out = np.clip(a["low"] + share, a["low"], a["high"])
        return out.reshape(len(x), *a["shape"]).astype(a["like"].dtype)

    def network(self, x, prefix=""):
        a = self.arrays
        x = (x - a[prefix + "shift"]) / a[prefix + "scale"]
        for layer, then in enumerate(a[prefix + "activations"]):
            x = x @ a[f"{prefix}weight_{layer}"] + a[f"{prefix}bias_{layer}"]
            x = (x, np.tanh(x), np.maximum(x, 0))[then]
        return x
