"""Configurations of older versions in today's names."""

import pytest

from ilfo.agents.registry import COMPONENTS as PARTS
from ilfo.methods import METHODS
from ilfo.storage.config import ConfigError, from_dict
from ilfo.storage.renamed import ADDED, CLASSES, CONSTANTS, GONE, up_to_date

SETTINGS = {kind.method.settings.__name__: kind.method.settings for kind in METHODS.values()}
OWN_PARTS = {part.__name__: part for kind in METHODS.values() for part in kind.method.parts}
COMPONENTS = PARTS | SETTINGS | OWN_PARTS


def test_a_class_that_was_renamed_is_found_at_any_depth():
    old = {"type": "Settings", "planner": {"type": "TRPO"}, "more": [{"type": "Settings"}]}
    new = up_to_date(old)
    assert new["type"] == new["more"][0]["type"] == "MobILESettings"
    assert new["planner"] == {"type": "TRPO"}
    assert old["type"] == "Settings"


def test_a_setting_that_is_new_gets_the_value_that_does_what_the_code_did():
    assert up_to_date({"type": "MobILESettings"})["floor"] is False
    assert up_to_date({"type": "MobILESettings", "floor": True})["floor"] is True
    for kind, fields in ADDED.items():
        assert set(fields) <= set(COMPONENTS[kind].__dataclass_fields__)


def test_a_setting_that_became_a_constant_is_dropped_where_it_had_that_value():
    assert up_to_date({"type": "TRPO", "kl": 0.1, "shortening": 0.8}) == {"type": "TRPO", "kl": 0.1}
    other = {"type": "TRPO", "kl": 0.1, "shortening": 0.5}
    assert up_to_date(other) == other


def test_another_value_of_a_former_setting_is_an_error():
    with pytest.raises(ConfigError, match="shortening"):
        from_dict({"type": "TRPO", "shortening": 0.5}, COMPONENTS)


@pytest.mark.parametrize("name", CLASSES)
def test_renamed_classes_exist_under_their_new_names_only(name):
    assert CLASSES[name] in COMPONENTS
    assert name not in COMPONENTS


@pytest.mark.parametrize(("kind", "field"), CONSTANTS)
def test_former_settings_are_no_settings_any_more(kind, field):
    assert field not in COMPONENTS[kind].__dataclass_fields__


@pytest.mark.parametrize(("kind", "field"), GONE)
@pytest.mark.parametrize("value", [None, 0.1])
def test_what_only_training_needed_is_dropped_whatever_its_value(kind, field, value):
    assert field not in up_to_date({"type": kind, field: value})
