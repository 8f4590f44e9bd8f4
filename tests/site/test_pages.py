"""The generated parts of the site: public names are described, links lead to pages, notebooks show outputs."""

from pathlib import Path
from types import SimpleNamespace

import jupytext
import pytest
from docs.hooks import build
from docs.hooks.addresses import ROOT, files_from_elsewhere, report_pages, with_site_links
from docs.hooks.docstrings import as_markdown
from docs.hooks.notebooks import NOTEBOOKS, page_of
from docs.hooks.public_names import identifier_of, names_of, public_names, summary_of
from docs.hooks.reference import reference_pages
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from test_public_names import PACKAGES


class TestReference:
    @pytest.mark.parametrize("package", PACKAGES)
    def test_every_public_name_is_on_the_page_of_its_package(self, package: str) -> None:
        page = reference_pages()[f"api/{package}.md"]
        assert [name for name in names_of(package) if f"- [`{name}`][" not in page] == []

    def test_every_name_that_a_page_links_to_is_described_on_exactly_one(self) -> None:
        described = [line for page in reference_pages().values() for line in page.splitlines() if line[:4] == "::: "]
        assert len(described) == len(set(described))
        assert {f"::: {name.identifier}" for name in public_names()} == set(described)

    def test_a_name_in_two_packages_is_described_with_the_inner_one(self) -> None:
        assert identifier_of("Canonicalized", "adacanon.points.rotations") == "adacanon.core.Canonicalized"
        assert "::: adacanon.core.Canonicalized" not in reference_pages()["api/adacanon.md"]

    def test_a_name_of_several_packages_is_looked_up_beside_the_docstring_first(self) -> None:
        assert identifier_of("Rotations", "adacanon.images.windows") == "adacanon.images.Rotations"
        assert identifier_of("Rotations", "adacanon.core.family") is None
        assert identifier_of("adacanon.points.Rotations", "adacanon.core.family") == "adacanon.points.Rotations"
        assert identifier_of("NoSuchName", "adacanon.core.family") is None

    def test_roles_become_formulas_links_and_code(self) -> None:
        docstring = (
            "The :math:`x\n    + 1` of :class:`~adacanon.core.prior.ClassScore`, see :func:`hidden`.\n\nExample:\n"
        )
        expected = "The \\(x + 1\\) of [`ClassScore`][adacanon.core.ClassScore], see `hidden`.\n\nExamples:\n"
        assert as_markdown(docstring, "adacanon.core.soft") == expected

    def test_a_summary_is_the_first_sentence(self) -> None:
        assert (
            summary_of(type("Thing", (), {"__doc__": "One thing,\nand more. Another.\n\nText."}))
            == "One thing, and more"
        )


class TestLinks:
    @pytest.mark.parametrize(
        ("page", "link", "expected"),
        [
            ("results.md", "../results/toy.md", "results/toy.md"),
            ("contents.md", "../ARCHITECTURE.md#decisions", "ARCHITECTURE.md#decisions"),
            ("searches.md", "../README.md", "index.md"),
            ("quickstart.md", "notebooks/clouds.py", "notebooks/clouds.md"),
            ("results/toy.md", "../docs/clouds.md", "../clouds.md"),
            ("results/toy-sensitivity.md", "figures/toy-sensitivity.png", "figures/toy-sensitivity.png"),
            ("CHANGELOG.md", "docs/searches.md", "searches.md"),
            ("notebooks/clouds.md", "clouds.ipynb", "clouds.ipynb"),
            ("speed.md", "https://example.org/x.md", "https://example.org/x.md"),
            ("speed.md", "#evaluation", "#evaluation"),
        ],
    )
    def test_links_of_the_repository_lead_to_pages_of_the_site(self, page: str, link: str, expected: str) -> None:
        assert with_site_links(f"see [this]({link}).", page) == f"see [this]({expected})."

    def test_all_reports_and_pictures_are_taken_along(self) -> None:
        assert {"results/toy.md", "results/tu.md"} <= set(report_pages())
        assert "results/figures/continuity.png" in files_from_elsewhere()
        assert all(path.exists() for path in files_from_elsewhere().values())


class TestNotebooks:
    def test_a_page_shows_cells_and_what_they_print_and_draw(self) -> None:
        cell = new_code_cell("draw()", outputs=[_text("7\n"), _picture("UE5H")])
        files = page_of("story", new_notebook(cells=[new_markdown_cell("# Story"), cell]))
        expected = "# Story\n\n```python\ndraw()\n```\n\n```text\n7\n```\n\n![What the cell above draws](story-1.png)"
        assert str(files["notebooks/story.md"]).startswith(expected)
        assert files["notebooks/story-1.png"] == b"PNG"
        assert "notebooks/story.ipynb" in files

    def test_a_warning_ends_the_build(self) -> None:
        warning = new_output("stream", name="stderr", text="UserWarning")
        with pytest.raises(RuntimeError, match="what no page shows"):
            page_of("story", new_notebook(cells=[new_code_cell("f()", outputs=[warning])]))

    @pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
    def test_every_notebook_has_a_title_and_is_in_the_navigation(self, path: Path) -> None:
        cells = jupytext.read(path).cells
        assert cells[0].source.startswith("# ")
        assert f"notebooks/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text()


class TestPages:
    @pytest.mark.parametrize(
        "html",
        [
            '<script src="https://cdn.example.org/x.js"></script>',
            '<link rel="stylesheet" href="//fonts.example.org/css">',
            "<style>@import url(https://example.org/x.css);</style>",
            '<img alt="" src="http://example.org/x.png">',
        ],
    )
    def test_a_page_that_loads_something_from_elsewhere_is_refused(self, html: str) -> None:
        with pytest.raises(ValueError, match="would load"):
            build.on_post_page(html, SimpleNamespace(file=SimpleNamespace(src_uri="x.md")))

    def test_links_for_readers_are_no_requests(self) -> None:
        html = '<a href="https://example.org">paper</a><link rel="canonical" href="https://example.org/x">'
        assert build.on_post_page(html, SimpleNamespace(file=SimpleNamespace(src_uri="x.md"))) == html

    def test_links_are_not_called_by_file_names_and_comments_are_left_out(self) -> None:
        markdown = "See [results/toy.md](../results/toy.md).\n\n<!-- toy -->\n| a |\n"
        page = SimpleNamespace(file=SimpleNamespace(src_uri="results.md"))
        assert build.on_page_markdown(markdown, page) == "See [results/toy](results/toy.md).\n\n\n| a |\n"

    def test_stars_of_the_navigation_stand_for_generated_pages(self) -> None:
        config = build.on_config(SimpleNamespace(nav=[{"API": "api/*.md"}, {"Home": "index.md"}]))
        assert [address for entry in config.nav[0]["API"] for address in entry.values()] == list(reference_pages())
        assert config.nav[1] == {"Home": "index.md"}


def _text(text: str) -> object:
    return new_output("stream", name="stdout", text=text)


def _picture(content: str) -> object:
    return new_output("display_data", data={"image/png": content, "text/plain": "<Figure>"})
