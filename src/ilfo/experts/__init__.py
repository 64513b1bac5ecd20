"""Experts and their demonstrations: training an expert with the true reward, recording any policy,
and controllers written by hand.

`train_and_record` makes the bundled demonstrations. `OffPolicyTraining` trains an expert by SAC in
any environment with Box actions. `find_actor` loads an ilfo agent or expert, a Stable-Baselines3
model or a function as something that acts, and `play_actor` runs its episodes.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.experts.actors import play_actor
    from ilfo.experts.off_policy import OffPolicyPlan, OffPolicyTraining
    from ilfo.experts.record import NoExpertError, train_and_record
    from ilfo.experts.scripted import hold_cart, record_scripted, swing_up
    from ilfo.experts.sources import find_actor
    from ilfo.experts.train import Plan

__all__ = [
    "NoExpertError",
    "OffPolicyPlan",
    "OffPolicyTraining",
    "Plan",
    "find_actor",
    "hold_cart",
    "play_actor",
    "record_scripted",
    "swing_up",
    "train_and_record",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "NoExpertError": "record",
        "OffPolicyPlan": "off_policy",
        "OffPolicyTraining": "off_policy",
        "Plan": "train",
        "find_actor": "sources",
        "hold_cart": "scripted",
        "play_actor": "actors",
        "record_scripted": "scripted",
        "swing_up": "scripted",
        "train_and_record": "record",
    },
)
