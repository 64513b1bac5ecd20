"""The parts of a self-contained HTML page: nothing in it is loaded from elsewhere."""

import base64
from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       margin: 0 auto; max-width: 62rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem;
     border-top: 1px solid #ddd; padding-top: 1rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; overflow-wrap: normal; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #e5e5e5;
         white-space: nowrap; }
.facts { overflow-wrap: anywhere; }
.facts td { white-space: normal; text-align: left; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; height: auto; display: block; margin: .5rem 0; }
.plot img { min-width: min(40rem, 100%); }
@media (max-width: 40rem) { .plot img { max-width: none; width: 36rem; }
  .wide th { white-space: normal; } }
figcaption, .note { color: #555; font-size: .9rem; } figure { margin: 1rem 0; }
pre { background: #f5f5f5; padding: .6rem; font-size: .85rem; white-space: pre-wrap; }
summary { cursor: pointer; }
"""


def page(title: str, *parts: str) -> str:
    """A whole page; the parts are HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def heading(text: str, level: int = 2) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def items(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def folded(title: str, content: str) -> str:
    """HTML that a click unfolds."""
    return f"<details><summary>{escape(title)}</summary>\n{content}\n</details>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways where the screen is narrower."""
    cells = lambda kind, row: "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row)
    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table>\n<thead><tr>{cells("th", head)}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Names and what belongs to them."""
    body = "\n".join(
        f"<tr><td>{escape(name)}</td><td>{escape(said)}</td></tr>" for name, said in rows
    )
    return f'<table class="facts">\n{body}\n</table>'


def picture(kind: str, content: bytes, caption: str) -> str:
    """A picture inside the page; `kind` is its media type, such as `image/gif`."""
    return f"<figure>{_image(kind, content, caption)}{_caption(caption)}</figure>"


def svg(text: str, caption: str) -> str:
    """A plot, which scrolls sideways where the screen is too narrow to read it."""
    image = _image("image/svg+xml", text.encode(), caption)
    return f'<figure><div class="wide plot">{image}</div>{_caption(caption)}</figure>'


def _image(kind: str, content: bytes, caption: str) -> str:
    data = base64.b64encode(content).decode()
    return f'<img alt="{escape(caption)}" src="data:{kind};base64,{data}">'


def _caption(text: str) -> str:
    return f"<figcaption>{escape(text)}</figcaption>"
