"""Loading a network by name or from a file, and that no file is executed unless it is trusted."""

import pickle
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import adacanon
from adacanon.diagnosis import load_model
from adacanon.errors import DataError, InputError, UnknownNameError
from cases.brought_models import Colour, Half, colour, half, halves


class Trap:
    """Unpickled, it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return Path.touch, (self.trace,)


@pytest.fixture
def scripted(tmp_path: Path) -> Path:
    torch.jit.script(half()).save(str(tmp_path / "half.pt"))
    return tmp_path / "half.pt"


class TestImportPath:
    @pytest.mark.parametrize("name", ["half", "INSTANCE", "Half"])
    def test_a_factory_a_class_or_the_network_itself(self, name: str) -> None:
        network = load_model(f"cases.brought_models:{name}")
        assert isinstance(network, nn.Module)
        assert not network.training

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("brought_models", "names no network"),
            ("no_such_module:half", "no module no_such_module"),
            ("brought_models.deeper:half", "no module brought_models.deeper"),
            ("cases.brought_models:third", "has no third"),
        ],
    )
    def test_names_that_lead_nowhere(self, name: str, message: str) -> None:
        with pytest.raises(UnknownNameError, match=message):
            load_model(name)

    def test_what_is_no_network(self) -> None:
        with pytest.raises(InputError, match="gave int, expected a network"):
            load_model("cases.brought_models:number")

    def test_a_module_that_lacks_something_itself_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "lacking.py").write_text("import a_package_that_is_not_there")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(InputError, match=r"a_package_that_is_not_there.*lacking\.py, line 1: import a_pack"):
            load_model("lacking:network")

    def test_weights_are_loaded_into_it_and_those_of_another_architecture_refused(self, tmp_path: Path) -> None:
        theirs = colour()
        torch.save(theirs.state_dict(), tmp_path / "weights.pth")
        network = load_model("cases.brought_models:colour", weights=tmp_path / "weights.pth")
        assert isinstance(network, Colour)
        assert torch.equal(network.layer.weight, theirs.layer.weight)
        with pytest.raises(DataError, match=r"another architecture than Half: 2 unexpected \(layer.weight"):
            load_model("cases.brought_models:half", weights=tmp_path / "weights.pth")


class TestPythonFiles:
    def saved(self, folder: Path, text: str) -> Path:
        (folder / "my models.py").write_text(text)
        return folder / "my models.py"

    def test_a_function_of_a_file_and_what_lies_beside_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", list(sys.path))
        (tmp_path / "lying_beside.py").write_text("WIDTH = 5")
        text = (
            "from dataclasses import dataclass\nimport torch\nfrom lying_beside import WIDTH\n\n"
            "@dataclass\nclass Settings:\n    width: int = WIDTH\n\n"
            "def network():\n    return torch.nn.Linear(Settings().width, 2)\n"
        )
        network = load_model(f"{self.saved(tmp_path, text)}:network")
        assert isinstance(network, nn.Linear)
        assert (network.in_features, network.training) == (5, False)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("import torch\n\nx = 1 / 0\n", r"ZeroDivisionError: .*models\.py, line 3: x = 1 / 0"),
            ("def network(:\n", r"SyntaxError: .*models\.py, line 1"),
            (
                "import torch\ndef network():\n    return torch.nn.Linear(2)\n",
                r"TypeError: .*models\.py, line 3: return",
            ),
            ("raise KeyError('x')", r"KeyError: 'x' \(.*models\.py, line 1"),
            ("import a_package_that_is_not_there", r"ModuleNotFoundError: .*models\.py, line 1: import a_pack"),
        ],
    )
    def test_errors_in_the_file_name_their_line(
        self, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", list(sys.path))
        with pytest.raises(InputError, match=message):
            load_model(f"{self.saved(tmp_path, text)}:network")

    def test_a_file_without_a_function_and_one_that_is_missing(self, tmp_path: Path) -> None:
        file = self.saved(tmp_path, "")
        with pytest.raises(UnknownNameError, match=r"Hint: adacanon doctor .*my models\.py:function"):
            load_model(str(file))
        with pytest.raises(UnknownNameError, match="has no network"):
            load_model(f"{file}:network")
        with pytest.raises(DataError, match=r"none\.py is missing"):
            load_model(f"{tmp_path / 'none.py'}:network")

    def test_a_function_that_needs_arguments(self) -> None:
        with pytest.raises(
            InputError, match=r"needs arguments \(classes, width\), expected a function without any. Hint"
        ):
            load_model("cases.brought_models:needs_arguments")
        with pytest.raises(InputError, match=r"needs arguments \(classes\)"):
            load_model("cases.brought_models:Marks")

    def test_a_function_that_fails_says_where(self) -> None:
        with pytest.raises(InputError, match=r"KeyError: 'no such key' \(.*brought_models\.py, line \d+: return Marks"):
            load_model("cases.brought_models:fails")


class TestFiles:
    def test_torchscript_runs_only_if_it_is_trusted(self, scripted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        images, _ = halves(4)
        network = load_model(str(scripted), trust=True)
        assert torch.equal(network(images), half()(images))
        assert adacanon.doctor(network, [halves(51)], families=["reflection"]).alone.accuracy == 100
        monkeypatch.setattr(torch.jit, "load", lambda *arguments, **options: pytest.fail("executed"))
        with pytest.raises(InputError, match=r"TorchScript program.*--trust"):
            load_model(str(scripted))

    def test_exported_programs_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        images, _ = halves(4)
        batch = torch.export.Dim("batch", min=1, max=1024)
        program = torch.export.export(half(), (images,), dynamic_shapes={"images": {0: batch}})
        torch.export.save(program, tmp_path / "half.pt2")
        network = load_model(str(tmp_path / "half.pt2"), trust=True)
        torch.testing.assert_close(network(images[:3]), half()(images[:3]))
        examined, own = (adacanon.doctor(f, [halves(51)], families=["reflection"]) for f in (network, half()))
        assert examined.findings[0].fall == own.findings[0].fall
        monkeypatch.setattr(torch.export, "load", lambda *arguments: pytest.fail("executed"))
        with pytest.raises(InputError, match=r"torch.export program.*--trust"):
            load_model(str(tmp_path / "half.pt2"))

    @pytest.mark.parametrize("trust", [False, True])
    def test_pickled_objects_are_never_executed(self, trust: bool, tmp_path: Path) -> None:
        trace = tmp_path / "trace"
        torch.save({"model": Trap(trace)}, tmp_path / "model.pt")
        with pytest.raises(DataError, match="weights or a pickled object, not a program"):
            load_model(str(tmp_path / "model.pt"), trust=trust)
        (tmp_path / "model.pkl").write_bytes(pickle.dumps(Trap(trace)))
        with pytest.raises(DataError, match="damaged or no model"):
            load_model(str(tmp_path / "model.pkl"), trust=trust)
        assert not trace.exists()

    def test_weights_that_hold_code_are_refused(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace"
        torch.save({"layer.weight": Trap(trace)}, tmp_path / "weights.pth")
        with pytest.raises(DataError, match="its code is not executed"):
            load_model("cases.brought_models:colour", weights=tmp_path / "weights.pth")
        assert not trace.exists()

    def test_a_missing_file_and_a_damaged_one(self, scripted: Path) -> None:
        with pytest.raises(DataError, match=r"nothing\.pt is missing"):
            load_model("nothing.pt")
        scripted.write_bytes(scripted.read_bytes()[:200])
        with pytest.raises(DataError, match="damaged or no model"):
            load_model(str(scripted), trust=True)

    def test_a_program_has_its_own_weights(self, scripted: Path) -> None:
        with pytest.raises(InputError, match="its own weights"):
            load_model(str(scripted), trust=True, weights=scripted)


def test_the_class_that_the_files_were_made_of_is_what_the_tests_believe() -> None:
    images, labels = halves()
    assert torch.equal(Half()(images).argmax(1), labels)
