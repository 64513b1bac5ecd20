"""Drives an engine: submits jobs, keeps what they return, and repeats those that were lost."""

from collections import Counter
from collections.abc import Callable, Sequence

from ilfo.experiments.engines.base import Engine, Event, Job


def drive(
    engine: Engine,
    jobs: Sequence[Job],
    keep: Callable[[Event], None],
    watch: Callable[[Event], None] = lambda event: None,
    retries: int = 3,
) -> list[str]:
    """Run all jobs; returns the names of those that failed.

    **Arguments**

    - `keep`: called here, in this process, with every job that is done.
    - `watch`: called with every event, after `keep`.
    - `retries`: how often a job that is lost with its node is submitted again.
    """
    failed, lost = [], Counter[str]()
    if jobs:
        engine.submit(jobs)
    for event in engine.events():
        name = event.job.name
        if event.state == "done":
            keep(event)
        elif event.state == "lost":
            lost[name] += 1
            if lost[name] > retries:
                said = f"lost {lost[name]} times, the last time: {event.said}"
                event = event._replace(state="failed", said=said)
            else:
                engine.submit([event.job])
        if event.state == "failed":
            failed.append(name)
        watch(event)
    return failed
