import pytest

from ilfo.common.printable import LONGEST, brief, printable


@pytest.mark.parametrize("text", ["plain", "λ ± σ²", "two\nlines", "日本"])
def test_text_stays_as_it_is(text):
    assert printable(text) == text


def test_what_steers_a_terminal_is_escaped():
    assert printable("\x1b]0;title\x07") == r"\x1b]0;title\x07"
    assert printable("a\rb\tc\x9bd") == r"a\rb\tc\x9bd"
    assert printable("abc\u202edef") == r"abc\u202edef"
    assert printable("\udcff") == r"\udcff"


def test_an_error_becomes_one_line():
    assert brief(ValueError("two\n  lines\r\n")) == "two lines"
    assert len(brief(ValueError("a" * 5_000))) < LONGEST + 10


def test_an_error_without_text_says_its_kind():
    assert brief(MemoryError()) == "MemoryError"
    assert brief("") == ""
