"""What a fault led to, and children that can be killed while they find out.

Work is done in forked children: a crash, a hang or too much memory is then a defect of one case and
not the end of the campaign. JAX must not have computed anything in the parent.
"""

import json
import os
import resource
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ilfo.cli import _mistakes
from ilfo.runs.launch import TrainingError

SURVIVED, CLEAR, DEFECT = "survived", "clear error", "defect"
LONGEST = 2_000
"""Characters of a message that somebody may read."""


class Limit(NamedTuple):
    """Processor time and memory that a case may take."""

    seconds: float
    megabytes: float


USUAL, PICKLED = Limit(10.0, 400.0), Limit(1.0, 200.0)


class Outcome(NamedTuple):
    kind: str
    text: str = ""


class Undetected(Exception):
    """Something is wrong and nothing said so."""


@dataclass
class Report:
    """Outcomes by kind of fault, and the defects."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def add(self, fault: str, outcome: Outcome) -> None:
        self.counts.setdefault(fault, Counter())[outcome.kind] += 1
        if outcome.kind == DEFECT:
            self.defects.append(f"{fault}: {outcome.text}")


def judge(
    work: Callable[[], Any], limit: Limit | None = None, raised: BaseException | None = None
) -> Outcome:
    """Do the work; an error that the command line prints in one line is clear, any other is a
    defect. So is a failed training, unless its cause is what the environment has `raised`, whose
    author needs the traceback."""
    began, before = time.process_time(), _peak()
    try:
        work()
        outcome = Outcome(SURVIVED)
    except BaseException as error:
        text = str(error).strip()
        expected = isinstance(error, TrainingError) and _is_cause(raised, error)
        if isinstance(error, _mistakes()) or expected:
            outcome = Outcome(CLEAR if text and len(text) < LONGEST else DEFECT, text[:LONGEST])
        else:
            outcome = Outcome(DEFECT, traceback.format_exc()[-3000:])
    seconds, megabytes = time.process_time() - began, _peak() - before
    if limit is not None and (seconds > limit.seconds or megabytes > limit.megabytes):
        return Outcome(DEFECT, f"took {seconds:.1f} s and {megabytes:.0f} MB: {outcome.text}")
    return outcome


def _is_cause(raised: BaseException | None, error: BaseException | None) -> bool:
    while error is not None and raised is not None:
        if type(error) is type(raised) and error.args == raised.args:
            return True
        error = error.__cause__
    return False


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


class Child:
    """A forked process that says what it found, one line per case."""

    def __init__(self, work: Callable[[], Iterable[Outcome]]):
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        try:
            _quiet()
            for outcome in work():
                os.write(write, json.dumps(outcome).encode() + b"\n")
        finally:
            os._exit(0)

    def outcomes(self, wait: float) -> Iterator[Outcome]:
        """What the child says until it ends, is killed, or says nothing for so many seconds."""
        rest = b""
        while select.select([self._read], [], [], wait)[0]:
            more = os.read(self._read, 65536)
            if not more:
                return
            *lines, rest = (rest + more).split(b"\n")
            yield from (Outcome(*json.loads(line)) for line in lines)

    def end(self) -> None:
        """Kill the child if it has not ended yet."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._read)
        os.waitpid(self.pid, 0)


def in_child(
    work: Callable[[], Any], wait: float = 600.0, raised: BaseException | None = None
) -> Outcome | None:
    """The outcome of work in a child; None if it died before it could say."""
    child = Child(lambda: [judge(work, raised=raised)])
    try:
        return next(child.outcomes(wait), None)
    finally:
        child.end()


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
