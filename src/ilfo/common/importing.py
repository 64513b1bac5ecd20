"""Importing modules that users name: installed ones, and files in the current folder."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

FILE = ".py"
"""What a name ends in that is a file's."""


def import_named(name: str) -> ModuleType:
    """The module of that name, or of the file if it ends in .py; ImportError if there is none, or
    if it is not Python.

    The current folder is searched after the installed packages. It stays on the path, as does the
    folder of a file, because modules import others when they are used.
    """
    try:
        if name.endswith(FILE):
            return _import_file(Path(name).resolve())
        _search(os.getcwd())
        return importlib.import_module(name)
    except SyntaxError as error:
        place = f"{error.filename}, line {error.lineno}"
        raise ImportError(f"{place} is not valid Python: {error.msg}; correct it") from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ImportError(f"there is no file {path}")
    loaded = sys.modules.get(path.stem)
    if loaded is not None:
        if getattr(loaded, "__file__", None) != str(path):
            raise ImportError(
                f"a module {path.stem!r} is in use already, so {path.name} needs another name"
            )
        return loaded
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _search(str(path.parent))
    sys.modules[path.stem] = module  # as `import` does: classes are found by their module's name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _search(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be younger than the last look at its folder
