"""The methods: MobILE, and the baselines it is compared with. One file each."""

from ilfo.agents.agent import Agent
from ilfo.methods.bc import BC, BCSettings
from ilfo.methods.bco import BCO, BCOSettings
from ilfo.methods.dacfo import DACfO, DACfOSettings
from ilfo.methods.gail import GAIL, AdversarialSettings, GAIfO
from ilfo.methods.ilpo import ILPO, ILPOSettings
from ilfo.methods.inference import Inference
from ilfo.methods.mobile import MobILE, MobILESettings

METHODS: dict[str, type[Agent]] = {
    kind.method.name: kind for kind in (MobILE, BC, BCO, GAIL, GAIfO, DACfO, ILPO)
}
"""What `ilfo train METHOD` can name."""

__all__ = [
    "BC",
    "BCO",
    "GAIL",
    "ILPO",
    "METHODS",
    "AdversarialSettings",
    "BCOSettings",
    "BCSettings",
    "DACfO",
    "DACfOSettings",
    "GAIfO",
    "ILPOSettings",
    "Inference",
    "MobILE",
    "MobILESettings",
]
