"""What every test shares: one thread, an own cache folder, a browser, and data tests only where data is."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cases.browser import CHROMIUM, DRIVER, MISSING, Browser, browser


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def data_folder() -> Path:
    return Path(os.environ["ADACANON_DATA"])


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser, for the tests of one file."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(MISSING)
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "ADACANON_DATA" in os.environ:
        return
    skip = pytest.mark.skip(reason="needs real data: set ADACANON_DATA to a folder with the data sets")
    for item in items:
        if item.get_closest_marker("data"):  # keywords also hold the names of folders
            item.add_marker(skip)
