"""Acts with a policy that `ilfo export RUN policy.npz` wrote. It needs NumPy and nothing else: copy
this file to wherever the policy is to act."""

import numpy as np


class Policy:
    """`Policy("policy.npz")(observation)` is the most likely action, in the environment's units."""

    def __init__(self, path):
        with np.load(path) as file:
            self.arrays = dict(file)

    def __call__(self, observation):
        """An action for one observation, or one for each of a batch."""
        arrays, rows = self.arrays, np.asarray(observation, np.float32)
        shape = tuple(arrays["observation_shape"].tolist())
        if rows.shape == shape:
            return self(rows[None])[0]
        if rows.shape[1:] != shape:
            raise ValueError(f"an observation of shape {rows.shape}, not {shape} or a batch of it")
        x = rows.reshape(len(rows), int(np.prod(shape)))
        if "latent_shift" in arrays:
            latent = self._network(x, "latent_")
            x = np.concatenate([x, np.eye(latent.shape[1])[latent.argmax(1)]], 1)
        out = self._network(x, "")
        if "counts" in arrays:
            entries = np.split(out, np.cumsum(arrays["counts"])[:-1], axis=1)
            actions = np.stack([entry.argmax(1) for entry in entries], 1) + arrays["start"]
        elif "start" in arrays:
            return out.argmax(1) + arrays["start"]
        else:
            share = (np.clip(out, -1, 1) + 1) / 2 * (arrays["high"] - arrays["low"])
            share = np.rint(share) if arrays["like"].dtype.kind in "iu" else share
            actions = np.clip(arrays["low"] + share, arrays["low"], arrays["high"])
        return actions.reshape(-1, *arrays["shape"]).astype(arrays["like"].dtype)

    def _network(self, x, prefix):
        arrays, squashed, layer = self.arrays, f"{prefix}squashed" in self.arrays, 0
        x = (x - arrays[f"{prefix}shift"]) / arrays[f"{prefix}scale"]
        while f"{prefix}weight_{layer}" in arrays:
            if layer:
                x = np.maximum(x, 0) if squashed else np.tanh(x)
            x = x @ arrays[f"{prefix}weight_{layer}"] + arrays[f"{prefix}bias_{layer}"]
            layer += 1
        return np.tanh(x) if squashed else x
