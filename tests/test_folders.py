"""Where files live."""

from pathlib import Path

import pytest

from adacanon.folders import cache_folder, data_folder


def test_empty_variables_count_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADACANON_CACHE", "ADACANON_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
    assert cache_folder() == Path.home() / ".cache" / "adacanon"
    assert data_folder() is None


def test_the_cache_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("ADACANON_CACHE", raising=False)
    assert cache_folder() == tmp_path / "user" / "adacanon"
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
