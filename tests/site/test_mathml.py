"""Formulas: what our pages and docstrings write is understood, and what is not understood is refused."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from docs.hooks.build import with_formulas
from docs.hooks.mathml import MathError, mathml
from docs.hooks.public_names import public_names
from markdown import markdown

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
ROLE = re.compile(r":math:`([^`]+)`")
CODE = re.compile(r"```.*?```|`[^`\n]*`", flags=re.S)
DOLLARS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", flags=re.S)


def formulas_of_pages() -> list[str]:
    texts = [CODE.sub("", page.read_text()) for page in PAGES]
    return [display or inline for text in texts for display, inline in DOLLARS.findall(text)]


def formulas_of_docstrings() -> list[str]:
    return [formula for name in public_names() for formula in ROLE.findall(inspect.getdoc(name.value) or "")]


def letters(latex: str) -> list[str]:
    """The single Latin letters of a formula, without commands and their words: an oracle without a parser."""
    plain = re.sub(r"\\(?:text|mathrm)\{[^}]*\}|\\math(?:cal|bb|bf) ?\{?\w\}?|\\[a-zA-Z]+", " ", latex)
    return re.findall("[a-zA-Z]", plain)


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x", "<mi>x</mi>"),
        ("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        ("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        ("x^10", "<msup><mi>x</mi><mn>1</mn></msup><mn>0</mn>"),
        (r"\mathcal L", "<mi>ℒ</mi>"),
        (r"\mathcal{U}", "<mi>𝒰</mi>"),
        (r"\mathbf 1", "<mi>𝟏</mi>"),
        (r"\text{two words}", '<mi mathvariant="normal">two words</mi>'),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"\hat S", '<mover accent="true"><mi>S</mi><mo>^</mo></mover>'),
    ],
)
def test_small_formulas(latex: str, expected: str) -> None:
    assert mathml(latex) == f"<math>{expected}</math>"


def test_indices_of_sums_stand_below_them() -> None:
    assert "<munder><mo>∑</mo><mi>i</mi></munder>" in mathml(r"\sum_i x_i", display=True)


@pytest.mark.parametrize(
    "latex", [r"\begin{matrix}", r"\unknown x", "{x", "x}", "x_", "x_i_j", r"\mathcal", r"\big x", "x # y"]
)
def test_what_is_not_understood_is_refused(latex: str) -> None:
    with pytest.raises(MathError, match="in the formula"):
        mathml(latex)


@pytest.mark.parametrize("source", [formulas_of_pages, formulas_of_docstrings])
def test_all_our_formulas_become_well_formed_mathml_with_all_their_letters(source: Callable[[], list[str]]) -> None:
    formulas = source()
    assert len(formulas) > 50
    for latex in formulas:
        tree = ElementTree.fromstring(mathml(latex))
        shown = [leaf.text for leaf in tree.iter("mi") if leaf.text and re.fullmatch("[a-zA-Z]", leaf.text)]
        assert sorted(shown) == sorted(letters(latex)), latex


def test_formulas_of_a_page_are_found_and_code_is_left_alone() -> None:
    page = "Cost $x_1$ and `$y$`.\n\n$$\\sum_i z_i$$\n\n```\n$HOME\n```\n"
    extensions = {"pymdownx.arithmatex": {"generic": True}}
    html = with_formulas(
        markdown(page, extensions=["pymdownx.arithmatex", "pymdownx.superfences"], extension_configs=extensions)
    )
    assert html.count("<math") == 2
    assert html.count('<math display="block">') == 1
    assert "arithmatex" not in html
    assert "$HOME" in html
    assert "$y$" in html
