"""The texts under the fields of a class, which are their help."""

import ast
import inspect
import itertools
import textwrap


def field_texts(kind: type) -> dict[str, str]:
    """The string literal under each annotated field of a class, inherited ones included."""
    own = [base for base in reversed(kind.__mro__) if inspect.get_annotations(base)]
    return {name: text for base in own for name, text in _own_texts(base).items()}


def _own_texts(kind: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    texts = {}
    for field, below in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = " ".join(str(below.value.value).split())
    return texts
