"""Discriminators: costs that tell the learner's steps from the expert's.

`MMD`, the discriminator of MobILE, compares mean features of the learner and the demonstrations.
`ConstantCost` wraps a discriminator and ignores the demonstrations in the cost, as a survival
reference. `Classifier` is the network of GAIL and GAIfO, `ReplayClassifier` that of DACfO. A
discriminator of your own for MobILE derives from `AbstractDiscriminator` and
`AbstractFittedDiscriminator`.
"""

from ilfo.discriminators.base import AbstractDiscriminator, AbstractFittedDiscriminator
from ilfo.discriminators.classifier import Classifier
from ilfo.discriminators.constant import ConstantCost
from ilfo.discriminators.floor import Floor
from ilfo.discriminators.mmd import MMD
from ilfo.discriminators.occupancy import Occupancy
from ilfo.discriminators.replayed import ReplayClassifier

__all__ = [
    "MMD",
    "AbstractDiscriminator",
    "AbstractFittedDiscriminator",
    "Classifier",
    "ConstantCost",
    "Floor",
    "Occupancy",
    "ReplayClassifier",
]
