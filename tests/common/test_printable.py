import pytest

from ilfo.common.printable import printable


@pytest.mark.parametrize("text", ["plain", "λ ± σ²", "two\nlines", "日本"])
def test_text_stays_as_it_is(text):
    assert printable(text) == text


def test_what_steers_a_terminal_is_escaped():
    assert printable("\x1b]0;title\x07") == r"\x1b]0;title\x07"
    assert printable("a\rb\tc\x9bd") == r"a\rb\tc\x9bd"
    assert printable("abc\u202edef") == r"abc\u202edef"
    assert printable("\udcff") == r"\udcff"
