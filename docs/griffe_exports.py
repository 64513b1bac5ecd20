"""For the API reference: a package's page shows each object once, in the module that defines it.

Packages re-export what users construct. The page would show these objects twice; instead, their
names are listed below the package's docstring.
"""

from typing import Any

import griffe


class ListExports(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _list_exports(pkg)


def _list_exports(module: griffe.Module) -> None:
    for each in module.modules.values():
        if not each.is_alias:
            _list_exports(each)
    # Names that are defined elsewhere; of its own ones a module is the home.
    names = [
        str(name)
        for name in module.exports or ()
        if str(name) not in module.members or module.members[str(name)].is_alias
    ]
    if not module.is_init_module or not names:
        return
    listed = ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))
    text = f"`from {module.path} import ...`: {listed}"
    if module.docstring is None:
        module.docstring = griffe.Docstring(text, parent=module)
    else:
        module.docstring.value += f"\n\n{text}"
    module.exports = None
