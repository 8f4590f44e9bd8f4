"""What mkdocs calls while it builds the site: adds generated pages, moves links, and writes formulas as MathML."""

import re
from html import unescape
from pathlib import Path
from typing import Any

from docs.hooks.addresses import files_from_elsewhere, report_pages, with_site_links
from docs.hooks.mathml import MathError, mathml
from docs.hooks.notebooks import notebook_pages
from docs.hooks.public_names import PACKAGES
from docs.hooks.reference import reference_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.S)
FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\ssrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b[^>]*\srel=(?!["']?(?:canonical|next|prev))[^>]*\shref=["']?(?:https?:)?//[^>]*>"""
    r"""|@import[^;]*//|url\(["']?(?:https?:)?//[^)]*\)"""
)
FILE_NAME = re.compile(r"\[([\w/-]+)\.md\]\(")
COMMENT = re.compile(r"^<!-- .*? -->$", flags=re.M)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Entries of the navigation with a star stand for generated pages."""
    reports = [{Path(address).stem: address} for address in report_pages()]
    generated = {"results/*.md": reports, "api/*.md": [{package: f"api/{package}.md"} for package in PACKAGES]}
    config.nav = _expanded(config.nav, generated)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for address, path in files_from_elsewhere().items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    for address, content in {**reference_pages(), **notebook_pages()}.items():
        files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Without comments, which would glue generated tables to the text above, and without the ends of file names."""
    return with_site_links(FILE_NAME.sub(r"[\1](", COMMENT.sub("", markdown)), page.file.src_uri)


def on_page_content(html: str, page: Page, **_: Any) -> str:
    try:
        return with_formulas(html)
    except MathError as error:
        error.add_note(f"on the page {page.file.src_uri}")
        raise


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """A page asks for nothing from elsewhere: no font, script, style or picture."""
    if elsewhere := FROM_ELSEWHERE.search(output):
        raise ValueError(f"The page {page.file.src_uri} would load {elsewhere[0]!r}. Hint: keep the file in docs/")
    return output


def with_formulas(html: str) -> str:
    """Every formula that the Markdown extension has marked, as MathML."""
    return FORMULA.sub(lambda found: mathml(unescape(found[3]), display=found[2] == "["), html)


def _expanded(nav: Any, generated: dict[str, list[dict[str, str]]]) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(entry, generated) for title, entry in nav.items()}
    if isinstance(nav, list):
        return [_expanded(entry, generated) for entry in nav]
    return generated.get(nav, nav)
