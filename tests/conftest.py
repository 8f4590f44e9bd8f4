"""What every test shares: one thread, an own cache folder, and data tests only where data is."""

import os
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def data_folder() -> Path:
    return Path(os.environ["ADACANON_DATA"])


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "ADACANON_DATA" in os.environ:
        return
    skip = pytest.mark.skip(reason="needs real data: set ADACANON_DATA to a folder with the data sets")
    for item in items:
        if "data" in item.keywords:
            item.add_marker(skip)
