import pytest

from ilfo.common.importing import import_named


@pytest.mark.parametrize("way", ["wrongly_written.py", "wrongly_written"])
@pytest.mark.parametrize("text", ["x = 1\ndef f(:\n", "x = 1\nreturn\n", "x = 1\n  y = 2\n"])
def test_a_file_that_is_no_python_is_named_with_its_line(way, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [])
    (tmp_path / "wrongly_written.py").write_text(text)
    said = r"wrongly_written\.py, line 2 is not valid Python: .*; correct it"
    with pytest.raises(ImportError, match=said):
        import_named(way)


def test_what_a_module_raises_itself_stays(tmp_path):
    (tmp_path / "raises_itself.py").write_text("unknown_name\n")
    with pytest.raises(NameError, match="unknown_name"):
        import_named(f"{tmp_path}/raises_itself.py")
