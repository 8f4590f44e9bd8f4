"""Pages come from templates: what is shown is escaped, what is missing is an error, nothing comes from elsewhere."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import adacanon
from adacanon.reports.pages import render
from adacanon.reports.render import report_values
from adacanon.reports.summary import summarise

PACKAGE = Path(adacanon.__file__).parent
TEMPLATES = sorted((PACKAGE / "reports" / "templates").glob("*.html"))
ATTACK = """</title></script><script>alert("x")</script>"""


def values(text: str) -> dict[str, object]:
    return {**report_values(summarise(text, [], expected={(text, text): 1}, published={}, notes=(text,)))}


def test_words_from_elsewhere_stay_words() -> None:
    page = render("report.html", values(ATTACK))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4  # title, heading, method and note


def test_an_address_cannot_leave_its_quotes() -> None:
    page = render("report.html", values("""[here](x" onclick="alert(1))"""))
    assert 'href="x&#34; onclick=&#34;alert(1"' in page


def test_data_cannot_end_its_script() -> None:
    texts = dict.fromkeys(("title", "lead", "before", "after", "lowest", "highest"), "")
    page = render("gallery.html", {**texts, "data": {"clouds": ATTACK}})
    assert page.count("</script>") == 2
    assert r"\u003c/script\u003e" in page


def test_a_missing_value_is_an_error() -> None:
    complete = values("a")
    for name in complete:
        with pytest.raises(UndefinedError, match=name):
            render("report.html", {key: value for key, value in complete.items() if key != name})


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.stem)
def test_no_template_switches_escaping_off_or_asks_the_network(template: Path) -> None:
    text = template.read_text()
    assert re.findall(r"\|\s*safe|autoescape|https?:|//cdn|@import|url\(|<link", text) == []


@pytest.mark.parametrize("name", [file.stem for file in TEMPLATES if "extends" in file.read_text()])
def test_every_page_is_made_for_narrow_screens_too(name: str) -> None:
    """They all extend one page, which says so."""
    texts = {file.stem: file.read_text() for file in TEMPLATES}
    while extended := re.search(r'extends "(\w+)\.html"', texts[name]):
        name = extended[1]
    assert name == "base"
    assert 'name="viewport"' in texts[name]


def test_markup_is_written_in_templates_alone() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert files
    assert [file.name for file in files if re.search(r"</\w+>|<svg|IHDR", file.read_text(encoding="utf-8"))] == []
