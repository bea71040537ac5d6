"""Makes docs/reference.md from the macros' YAML and the docstrings of what the Python side exports.

python docs/reference.py
"""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import yaml

import dbt_cdc

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference.md"
# what has a page of its own
PAGES = re.compile("materialization_|default__|spark__")


def macro_call(name: str) -> str:
    """The call of a macro or a generic test with its defaults, from the file that has its name."""
    kind, called = ("test", name[5:]) if name.startswith("test_") else ("macro", name)
    (file,) = (ROOT / ("tests/dbt/generic" if kind == "test" else "macros")).rglob(f"{called}.sql")
    found = re.search(rf"{kind} {called}\((.*?)\)\s*-?%}}", file.read_text(), re.DOTALL)
    assert found
    return f"{called}({' '.join(found[1].split())})"


def described(text: str) -> str:
    """A description with the blocks of the guides that it shows."""
    guides = "".join(guide.read_text() for guide in sorted((ROOT / "docs").glob("*.md")))
    blocks = dict(re.findall(r"{% docs (\w+) %} -->(.*?)<!-- {% enddocs %}", guides, re.DOTALL))
    return re.sub(r"{{ doc\('dbt_cdc', '(\w+)'\).*?}}", lambda found: blocks[found[1]].strip(), text)


def macro_section(macro: dict[str, object]) -> list[str]:
    """One macro: its call, what it gives, its arguments."""
    arguments = macro.get("arguments") or []
    assert isinstance(arguments, list)
    name = str(macro["name"])
    heading = f"Generic test `dbt_cdc.{name[5:]}`" if name.startswith("test_") else f"`dbt_cdc.{name}`"
    lines = [f"### {heading}", "", "```", macro_call(name), "```", "", described(str(macro["description"])).strip(), ""]
    if arguments:
        lines += ["| argument | type | meaning |", "|---|---|---|"]
        lines += [f"| `{a['name']}` | {a['type']} | {' '.join(a['description'].split())} |" for a in arguments]
        lines.append("")
    return lines


def call_of(name: str, thing: Any) -> list[str]:
    """The call of a function or a class as a block of code, with a line for each argument where they are many."""
    if inspect.ismodule(thing):
        return []
    signature = inspect.signature(thing)
    given = [
        p.replace(default=type(p.default)) if is_dataclass(p.default) else p for p in signature.parameters.values()
    ]
    text = str(signature.replace(parameters=given))
    text = re.sub(r"<class '[\w.]*\.(\w+)'>", r"\1()", text)
    text = re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", text)
    if len(text) > 90:
        arguments, _, result = text[1:].rpartition(") -> ")
        lines = re.split(r", (?![^\[(]*[\])])", arguments)
        text = "(\n" + "".join(f"    {line},\n" for line in lines) + f") -> {result}"
    return ["```python", name.rpartition(".")[2] + text, "```", ""]


def docstring(thing: Any) -> str:
    """A docstring as Markdown: roles of Sphinx become code, the sections of Google's style lists."""
    text = re.sub(r":\w+:`", "`", inspect.getdoc(thing) or "").replace("``", "`")
    text = re.sub(r"(?m)^(Args|Returns|Raises):$", r"\1:\n", text)
    text = re.sub(r"(?m)^ {4}(\w+): ", r"- `\1`: ", text)
    return re.sub(r"(?m)^ {8}", "  ", text)


def python_section(name: str, thing: Any) -> list[str]:
    """One function or class, or a module and what it exports: calls and docstrings."""
    inside = [*thing.__all__] if inspect.ismodule(thing) else []
    lines = [f"### `{name}`", "", *call_of(name, thing), docstring(thing), ""]
    return lines + [line for part in inside for line in python_section(f"{name}.{part}", getattr(thing, part))]


def reference() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Made by `docs/reference.py`; do not edit.", "", "## Macros", ""]
    for file in sorted((ROOT / "macros").rglob("*.yml")):
        for macro in sorted(yaml.safe_load(file.read_text())["macros"], key=lambda m: str(m["name"])):
            if not PAGES.match(macro["name"]):
                lines += macro_section(macro)
    lines += ["## Python", ""]
    for name in sorted(dbt_cdc.__all__):
        if name != "__version__":
            lines += python_section(f"dbt_cdc.{name}", getattr(dbt_cdc, name))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
