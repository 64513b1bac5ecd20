"""For the API reference: a package's page shows each object once, in the module that defines it.

Packages re-export what users construct. The page would show these objects twice; instead, links to
them are listed below the package's docstring.
"""

from typing import Any

import griffe


class ListExports(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _list_exports(pkg)


def _list_exports(module: griffe.Module) -> None:
    for submodule in module.modules.values():
        if not submodule.is_alias:
            _list_exports(submodule)
    # Names that are defined elsewhere; of its own ones a module is the home.
    names = [
        str(name)
        for name in module.exports or ()
        if str(name) not in module.members or module.members[str(name)].is_alias
    ]
    if not module.is_init_module or not names:
        return
    listed = ", ".join(_link(module, name) for name in sorted(names, key=str.lower))
    text = f"`from {module.path} import ...`: {listed}"
    if module.docstring is None:
        module.docstring = griffe.Docstring(text, parent=module)
    else:
        module.docstring.value += f"\n\n{text}"
    module.exports = None


def _link(module: griffe.Module, name: str) -> str:
    member = module.members.get(name)
    return f"[`{name}`][{member.target_path}]" if member is not None else f"`{name}`"
