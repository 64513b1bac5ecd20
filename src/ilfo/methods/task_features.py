"""Features that tell states of a task apart best: MobILE's discriminator learns on them, and every
method chooses the policy to return by them."""

from ilfo.discriminators.mmd import MMD

FOR_TASK = {
    "reacher": MMD(bandwidth_quantile=0.5, input="change", ridge=1.0),
    "swimmer": MMD(ridge=1.0),
    "walker2d": MMD(input="change", ridge=1.0),
}
"""By the task's name; other tasks and environments have the defaults."""
