"""How long an agent trains: environment steps per seed, or iterations where it takes none."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ilfo.agents.agent import Agent


def samples_per_iteration(agent: "Agent") -> int:
    """Environment steps that each seed takes in an iteration to learn."""
    takes_steps = agent.method.needs.environment
    return agent.settings.streams * agent.problem.horizon if takes_steps else 0


def check_budget(agent: "Agent", total_timesteps: int | None) -> None:
    if not agent.method.needs.environment:
        if total_timesteps is not None:
            raise ValueError(
                f"total_timesteps is {total_timesteps}, but {agent.method.name} takes no "
                "environment steps to learn; leave it out, the settings say how long it trains"
            )
    elif total_timesteps is None:
        raise ValueError(
            "total_timesteps is missing; pass the number of environment steps per seed"
        )
    elif total_timesteps < agent.samples_per_iteration:
        raise ValueError(
            f"total_timesteps is {total_timesteps}, but one iteration takes "
            f"{agent.samples_per_iteration} ({agent.settings.streams} streams of "
            f"{agent.problem.horizon} steps)"
        )


def total(agent: "Agent", total_timesteps: int | None) -> dict[str, int]:
    """How long it trains, as an entry of the log."""
    if total_timesteps is None:
        return {"total_iterations": agent.settings.iterations}
    return {"total_timesteps": total_timesteps}


def unfinished(agent: "Agent", total_timesteps: int | None) -> bool:
    """Whether another whole iteration fits."""
    if total_timesteps is None:
        return agent.iteration < agent.settings.iterations
    return agent.online_samples + agent.samples_per_iteration <= total_timesteps
