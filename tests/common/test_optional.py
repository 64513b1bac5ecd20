import pytest

from ilfo.common.optional import MissingExtraError, needed_from


def test_a_failed_import_says_what_needs_it_and_how_to_install_it():
    with (
        pytest.raises(
            MissingExtraError, match=r"reading x needs no_such_library; .*'ilfo\[some\]'"
        ),
        needed_from("some", "reading x"),
    ):
        import no_such_library  # noqa: F401


def test_an_import_that_works_is_left_alone():
    with needed_from("some", "reading x"):
        import json
    assert json.loads("1") == 1
