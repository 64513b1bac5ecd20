"""Types of options that several commands share."""

from typing import Annotated

import tyro

from ilfo.methods import METHODS

MethodName = Annotated[str, tyro.conf.arg(metavar="|".join(METHODS))]
