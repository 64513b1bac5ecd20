"""Specs survive JSON, and every way in which they cannot names the field."""

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from ilfo.storage.config import ConfigError, from_dict, lookup, override, to_dict


class Planner(eqx.Module):
    kl: float = 0.01
    steps: int = 10
    search: bool = True
    activation: Callable[[jax.Array], jax.Array] = jnp.tanh
    weight: float | Float[Array, ""] = 0.5


class Model(eqx.Module):
    hidden: tuple[int, ...]
    name: str | None = None
    bounds: tuple[float, float] = (-1.0, math.inf)
    loss: Literal["huber", "square"] = "huber"


@dataclasses.dataclass(frozen=True)
class Config:
    planner: Planner
    model: Model
    parts: tuple[Planner | Model, ...] = ()
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.planner.steps < 0:
            raise ValueError(f"steps is {self.planner.steps}, expected at least 0")


def half(x: jax.Array) -> jax.Array:
    return x / 2


CLASSES = {"Planner": Planner, "Model": Model, "Config": Config}
FUNCTIONS = {"tanh": jnp.tanh, "half": half}
CONFIG = Config(
    planner=Planner(kl=0.1 + 0.2, weight=jnp.float32(0.1)),
    model=Model((64, 64), name="ensemble"),
    parts=(Planner(activation=half), Model(())),
)


def through_json(spec: Any) -> Any:
    return json.loads(json.dumps(to_dict(spec, FUNCTIONS), allow_nan=False))


def test_round_trip() -> None:
    back = from_dict(through_json(CONFIG), CLASSES, FUNCTIONS)
    assert eqx.tree_equal(back.planner, CONFIG.planner)
    assert back.planner.weight.dtype == jnp.float32
    assert (back.model, back.parts) == (CONFIG.model, CONFIG.parts)
    assert through_json(back) == through_json(CONFIG)


def test_the_written_form() -> None:
    assert to_dict(CONFIG, FUNCTIONS) == {
        "type": "Config",
        "planner": {
            "type": "Planner",
            "kl": 0.30000000000000004,
            "steps": 10,
            "search": True,
            "activation": {"function": "tanh"},
            "weight": {"array": 0.10000000149011612, "dtype": "float32"},
        },
        "model": {
            "type": "Model",
            "hidden": [64, 64],
            "name": "ensemble",
            "bounds": [-1.0, {"float": "inf"}],
            "loss": "huber",
        },
        "parts": [to_dict(part, FUNCTIONS) for part in CONFIG.parts],
    }


def test_numpy_scalars_become_python_numbers() -> None:
    values: dict[str, Any] = {
        "kl": np.float32(0.1),
        "steps": np.int64(3),
        "search": np.bool_(False),
    }
    written = to_dict(Planner(**values))
    assert [type(written[name]) for name in ("kl", "steps", "search")] == [float, int, bool]
    assert written["kl"] == float(np.float32(0.1))


def test_arrays_keep_shape_and_infinities() -> None:
    @dataclasses.dataclass(frozen=True)
    class Sweep:
        rates: jax.Array

    sweep = Sweep(jnp.array([[0.1], [-jnp.inf]], jnp.bfloat16))
    back = from_dict(through_json(sweep), {"Sweep": Sweep})
    assert back.rates.dtype == jnp.bfloat16
    assert np.array_equal(back.rates, sweep.rates)


def test_defaults_fill_in_and_ints_become_floats() -> None:
    planner = from_dict({"type": "Planner", "kl": 1}, CLASSES)
    assert planner == Planner(kl=1.0)
    assert type(planner.kl) is float


def test_a_function_outside_the_table_is_passed_again() -> None:
    written = json.loads(json.dumps(to_dict(CONFIG, {"tanh": jnp.tanh})))
    assert written["parts"][0]["activation"] == {"function": None, "repr": "half"}
    with pytest.raises(ConfigError, match=r"^parts\[0\]\.activation: its function half .* again"):
        from_dict(written, CLASSES, FUNCTIONS)
    back = from_dict(written, CLASSES, FUNCTIONS | {"parts[0].activation": half})
    assert back.parts[0].activation is half


MODEL = {"type": "Model", "hidden": [8]}


@pytest.mark.parametrize(
    ("planner", "message"),
    [
        ({"type": "os.system"}, "^planner.type: unknown class 'os.system'; known are Planner"),
        ({"type": ["Planner"]}, "^planner.type: unknown class"),
        ({"type": "Planner", "kl_max": 1}, "^planner.kl_max: .* no field 'kl_max'; it has kl, st"),
        ({"type": "Planner", "kl": "small"}, r"^planner.kl: expected float, got 'small' \(str\)"),
        ({"type": "Planner", "kl": True}, "^planner.kl: expected float, got True"),
        ({"type": "Planner", "kl": None}, "^planner.kl: expected float, got None"),
        ({"type": "Planner", "steps": 1.5}, "^planner.steps: expected int, got 1.5"),
        ({"type": "Planner", "steps": False}, "^planner.steps: expected int, got False"),
        ({"type": "Planner", "search": 1}, "^planner.search: expected bool, got 1"),
        ({"type": "Planner", "steps": {"int": 1}}, "^planner.steps: .*not a valid config value"),
        ({"type": "Planner", "kl": {"float": "1e3"}}, "^planner.kl: .*not a valid config value"),
        ({"type": "Planner", "activation": "tanh"}, "^planner.activation: expected .*Callable"),
        ({"type": "Planner", "activation": {"function": "exec"}}, "^planner.activation: unknown f"),
        ({"type": "Planner", "weight": {"array": 1}}, "^planner.weight: .* not an array"),
        ({"type": "Planner", "weight": {"array": "x", "dtype": "float32"}}, "^planner.weight: "),
        (
            {"type": "Planner", "weight": {"array": 1.0, "dtype": "float64"}},
            "^planner.weight: float64 arrays need jax_enable_x64",
        ),
        (
            {"type": "Planner", "weight": {"array": [1.0], "dtype": "float32"}},
            "^planner.weight: expected",
        ),
        (MODEL, "^planner: expected Planner, got Model"),
        (3, "^planner: expected Planner, got 3"),
        ({"type": "Planner", "steps": -1}, "^Config: steps is -1, expected at least 0"),
    ],
)
def test_reading_errors_name_the_field(planner: Any, message: str) -> None:
    data = {"type": "Config", "planner": planner, "model": MODEL}
    with pytest.raises(ConfigError, match=message):
        from_dict(data, CLASSES, FUNCTIONS)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"type": "Model"}, "^model.hidden is missing; Model has no default"),
        ({"type": "Model", "hidden": 8}, "^model.hidden: expected tuple"),
        ({"type": "Model", "hidden": [8, "x"]}, "^model.hidden: expected tuple"),
        (MODEL | {"bounds": [0.0]}, "^model.bounds: expected tuple"),
        (MODEL | {"name": 3}, "^model.name: expected"),
        (MODEL | {"loss": "cube"}, "^model.loss: expected .*huber"),
    ],
)
def test_model_errors_name_the_field(model: Any, message: str) -> None:
    data = {"type": "Config", "planner": {"type": "Planner"}, "model": model}
    with pytest.raises(ConfigError, match=message):
        from_dict(data, CLASSES, FUNCTIONS)


def test_computed_fields_are_neither_written_nor_read() -> None:
    assert "total" not in to_dict(CONFIG)
    with pytest.raises(ConfigError, match=r"^total: Config has no field"):
        from_dict(through_json(CONFIG) | {"total": 1}, CLASSES, FUNCTIONS)


@pytest.mark.parametrize("data", [None, [], "Config", {"planner": {}}])
def test_the_top_level_must_be_a_spec(data: Any) -> None:
    with pytest.raises(ConfigError, match="object with a 'type'"):
        from_dict(data, CLASSES)


def test_what_cannot_be_written_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^planner\.kl holds \[1\]"):
        to_dict(Config(Planner(kl=[1]), Model(())))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^model\.hidden\[1\] holds"):
        to_dict(Config(Planner(), Model((1, jax.random.key(0)))))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected a dataclass"):
        to_dict({"kl": 1})
    kind = dataclasses.make_dataclass("Kind", [("type", str)], frozen=True)
    with pytest.raises(ConfigError, match=r"^type: .*rename"):
        to_dict(kind("x"))


def test_override_replaces_one_value_and_leaves_the_original() -> None:
    changed = override(CONFIG, "planner.kl", 0.02)
    assert changed.planner.kl == 0.02
    assert CONFIG.planner.kl == 0.30000000000000004
    assert changed.model == CONFIG.model
    assert override(CONFIG, "model", Model((1,))).model.hidden == (1,)
    assert override(CONFIG, "model.name", None).model.name is None


def test_lookup_finds_what_override_would_replace() -> None:
    assert lookup(CONFIG, "planner.kl") == 0.30000000000000004
    assert lookup(CONFIG, "model") == CONFIG.model
    with pytest.raises(ConfigError, match=r"^planner.kl.x: planner.kl is 0.3.* has no fields"):
        lookup(CONFIG, "planner.kl.x")


def test_override_converts_ints_and_keeps_arrays() -> None:
    assert type(override(CONFIG, "planner.kl", 1).planner.kl) is float
    weight = override(CONFIG, "planner.weight", 1).planner.weight
    assert isinstance(weight, jax.Array)
    assert (weight.dtype, float(weight)) == (jnp.float32, 1.0)
    assert override(Planner(), "weight", 0.25).weight == 0.25


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("planner.kll", 1.0, "^planner.kll: Planner has no field 'kll'; it has kl, steps, search"),
        ("plan.kl", 1.0, "^plan: Config has no field 'plan'; it has planner, model, parts"),
        ("planner.kl.x", 1.0, "^planner.kl.x: planner.kl is 0.3.* has no fields"),
        ("", 1.0, "^: Config has no field ''"),
        ("total", 1, "^total: Config has no field"),
        ("planner.kl", "0.1", r"^planner.kl: expected float, got '0.1' \(str\)"),
        ("planner.kl", True, "^planner.kl: expected float, got True"),
        ("planner.steps", 2.0, "^planner.steps: expected int, got 2.0"),
        ("planner.steps", True, "^planner.steps: expected int, got True"),
        ("planner.search", 0, "^planner.search: expected bool, got 0"),
        ("planner.weight", "x", "^planner.weight: expected"),
        ("planner.weight", True, "^planner.weight: expected"),
        ("model.name", 1, "^model.name: expected"),
        ("model.hidden", [1], "^model.hidden: expected tuple"),
        ("planner", Model(()), "^planner: expected Planner"),
        ("planner.steps", -1, "steps is -1, expected at least 0"),
    ],
)
def test_override_errors(path: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override(CONFIG, path, value)


def test_annotations_that_cannot_be_read_are_reported() -> None:
    kind = dataclasses.make_dataclass("Kind", [("x", "NowhereDefined")], frozen=True)
    with pytest.raises(ConfigError, match=r"annotations of Kind .*NowhereDefined"):
        from_dict({"type": "Kind", "x": 1}, {"Kind": kind})
