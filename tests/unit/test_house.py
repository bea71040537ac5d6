"""What holds for the whole tree: one version, typed macros, sizes."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest
import yaml

import dbt_cdc
from tests.support.spark import ROOT

MACRO_FILES = sorted((ROOT / "macros").rglob("*.sql"))
MACRO = re.compile(r"{%-?\s*macro\s+(\w+)\((.*?)\)\s*-?%}(.*?){%-?\s*endmacro\s*-?%}", re.DOTALL)
MATERIALIZATION = re.compile(r"{%-?\s*materialization\s.*?{%-?\s*endmaterialization\s*-?%}", re.DOTALL)
# dbt's own macros that the package overrides by dispatch, and a format's spelling of a statement
DISPATCHED = re.compile(r"^(default|spark|delta|iceberg|hudi)__")


def macros(path: Path) -> list[tuple[str, str, str]]:
    return [match.groups() for match in MACRO.finditer(path.read_text())]  # type: ignore[misc]


def documented() -> dict[str, dict[str, object]]:
    files = (ROOT / "macros").rglob("*.yml")
    return {macro["name"]: macro for file in files for macro in yaml.safe_load(file.read_text())["macros"]}


def public_macros() -> list[tuple[Path, str, str]]:
    found = [(path, name, arguments) for path in MACRO_FILES for name, arguments, _ in macros(path)]
    return [(p, n, a) for p, n, a in found if not n.startswith("_") and not DISPATCHED.match(n)]


def test_the_version_is_the_same_wherever_it_stands() -> None:
    version = dbt_cdc.__version__
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text()
    assert yaml.safe_load((ROOT / "dbt_project.yml").read_text())["version"] == version
    assert f"return('{version}')" in (ROOT / "macros/shared/_version.sql").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == version


@pytest.mark.parametrize(("path", "name", "arguments"), public_macros(), ids=lambda v: str(getattr(v, "name", v)))
def test_a_public_macro_has_a_file_of_its_name_and_typed_arguments(path: Path, name: str, arguments: str) -> None:
    assert path.stem == name
    entry = documented()[name]
    assert entry["description"]
    named = [argument.split("=")[0].strip() for argument in re.sub(r"\[.*?\]|\{.*?\}", "", arguments).split(",")]
    stated = entry.get("arguments", [])
    assert isinstance(stated, list)
    assert [a["name"] for a in stated] == [n for n in named if n]
    assert all(a["type"] and a["description"] for a in stated)
    may_be_none = dict(re.findall(r"(\w+)=(none)", arguments))
    wrong = [a["name"] for a in stated if a["name"] in may_be_none and not re.match(r"any|optional\[", a["type"])]
    assert not wrong


def test_no_two_macros_have_one_name() -> None:
    names = [name for path in MACRO_FILES for name, _, _ in macros(path)]
    assert sorted(names) == sorted(set(names))


def test_what_formats_can_do_is_asked_of_their_table_alone() -> None:
    """No format is asked for by its name, but to tell a table's own, and by the command that writes files."""
    files = [*MACRO_FILES, *(ROOT / "src").rglob("*.py")]
    asks = re.compile(r"(?<!extract_type )(?:[=!]=|\bin)\s*[\[(]?['\"](?:delta|iceberg|hudi)['\"]")
    assert sorted(path.name for path in files if asks.search(path.read_text())) == ["__main__.py", "_load_relation.sql"]


@pytest.mark.parametrize("path", MACRO_FILES, ids=lambda path: path.name)
def test_a_macro_file_stays_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 150
    assert [line for line in text.splitlines() if len(line) > 140] == []
    for name, arguments, body in macros(path):
        assert body.count("\n") <= 60, name
        assert arguments.count(",") < 7 or name in MANY_ARGUMENTS, name
    for materialization in MATERIALIZATION.findall(text):
        assert materialization.count("\n") <= 100


#: public functions with as many arguments as their users have things to say
MANY_ARGUMENTS = {"incremental", "change_feed", "table_changes", "ref_changes"}


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: path.name)
def test_a_python_module_and_its_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= 50] == []
    counted = {f.name: len([*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]) for f in functions}
    assert {name for name, count in counted.items() if count > 7} <= MANY_ARGUMENTS


#: the shared macros that ask each capability for its own
ASKS_ALL = {
    "_on_run_start",
    "_options_by_owner",
    "_nodes_using_package",
    "_plain_nodes_with_options",
    "_companion_fault",
}


def test_shared_macros_know_nothing_of_the_capabilities() -> None:
    room = {name: path.relative_to(ROOT / "macros").parts[0] for path in MACRO_FILES for name, _, _ in macros(path)}
    shared = [found for path in MACRO_FILES if path.parent.name == "shared" for found in macros(path)]
    called = {
        (name, each)
        for name, _, body in shared
        if name not in ASKS_ALL
        for each in re.findall(r"dbt_cdc\.(_\w+)\(", body)
    }
    assert {(name, each) for name, each in called if room[each] not in ("shared", "formats")} == set()


ROOMS = """
    dbt_project.yml packages.yml profiles.example.yml pyproject.toml Makefile README.md CHANGELOG.md CONTRIBUTING.md LICENSE
    .sqlfluff .ci/run macros models snapshots seeds tests/dbt integration_tests src/dbt_cdc docs benchmarks
"""


def test_the_top_level_has_its_rooms() -> None:
    assert [room for room in ROOMS.split() if not (ROOT / room).exists()] == []


def test_the_reference_is_made_from_what_is_there() -> None:
    made = runpy.run_path(str(ROOT / "docs/reference.py"))["reference"]()
    assert (ROOT / "docs/reference.md").read_text() == made, "run: python docs/reference.py"


def test_every_private_macro_is_there_and_called() -> None:
    text = "".join(path.read_text() for path in [*MACRO_FILES, ROOT / "dbt_project.yml"])
    python = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    defined = {name for path in MACRO_FILES for name, _, _ in macros(path)}
    modules = {path.stem for path in (ROOT / "src").rglob("*.py")}
    called = {*re.findall(r"dbt_cdc\.(_\w+)", text), *re.findall(r"run_macro\(\s*['\"](\w+)", python)}
    assert called - defined - modules == set()
    assert {name for name in defined if name.startswith("_") and name not in called} == set()
    by_format = set(re.findall(r"_for_format\(\s*'(\w+)'", text))
    assert {name for name in by_format if not {f"delta__{name}", f"default__{name}"} & defined} == set()
    spelled = {name.partition("__")[2] for name in defined if re.match("(delta|iceberg|hudi)__", name)}
    own = set(re.findall(r"dbt_cdc\.(?:delta|iceberg|hudi)__(\w+)", text))
    for_all = {
        name.partition("__")[2]
        for path in MACRO_FILES
        for name, _, _ in macros(path)
        if path.parent.name == "formats" and name.startswith("default__")
    }
    assert for_all - by_format == set()
    assert spelled - by_format - own == set()
