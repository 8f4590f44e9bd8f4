"""Names that a network has itself, and names in files."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import adacanon
from adacanon.diagnosis import own_names, read_class_names
from adacanon.errors import DataError, InputError
from cases.brought_models import NamedMarks, half, halves

NAMES = ("cat", "dog", "eel")


class TestOwnNames:
    @pytest.mark.parametrize(
        ("place", "value"),
        [
            ("class_names", list(NAMES)),
            ("classes", NAMES),
            ("categories", list(NAMES)),
            ("names", {0: "cat", 2: "eel", 1: "dog"}),
            ("idx_to_class", {"0": "cat", "1": "dog", "2": "eel"}),
            ("class_to_idx", {"eel": 2, "cat": 0, "dog": 1}),
            ("meta", {"categories": list(NAMES)}),
            ("config", SimpleNamespace(id2label={0: "cat", 1: "dog", 2: "eel"})),
            ("config", {"label2id": {"cat": 0, "dog": 1, "eel": 2}}),
        ],
    )
    def test_usual_attributes_are_known(self, place: str, value: object) -> None:
        network = nn.Identity()
        setattr(network, place, value)
        behind = nn.Sequential(nn.Flatten(), network)
        for brought, wrapper in ((network, ""), (nn.DataParallel(network), "module."), (behind, "1.")):
            found = own_names(brought)
            assert found is not None
            assert found.names == NAMES
            assert found.place.startswith(wrapper + place)

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            ("classes", 10),
            ("names", "cat"),
            ("names", []),
            ("names", [1, 2]),
            ("idx_to_class", {0: "cat", 2: "dog"}),
            ("config", SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1"})),
            ("meta", None),
        ],
    )
    def test_other_things_under_these_names_are_no_names(self, place: str, value: object) -> None:
        network = nn.Identity()
        setattr(network, place, value)
        assert own_names(network) is None

    def test_a_scripted_network_keeps_them(self) -> None:
        class Named(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.class_names = list(NAMES)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x

        found = own_names(torch.jit.script(Named()))
        assert found is not None
        assert found.names == NAMES

    def test_two_orders_are_refused(self) -> None:
        network = nn.Identity()
        network.class_names, network.names = list(NAMES), list(reversed(NAMES))
        with pytest.raises(InputError, match=r"two orders .* class_names \(cat, dog, eel\) and names \(eel, dog, cat"):
            own_names(network)

    def test_names_given_in_another_order_get_a_warning(self) -> None:
        network = half()
        network.class_names = ["up", "down"]
        for names, warned in ((("up", "down"), False), (("down", "up"), True), (None, False), (("a", "b"), False)):
            found = adacanon.doctor(network, [halves()], families=["reflection"], class_names=names)
            texts = [caution.text for caution in found.cautions if caution.serious]
            assert any("another order than the network's own class_names: 2 differ" in text for text in texts) == warned
            assert found.class_names == (names or ("up", "down"))

    def test_more_names_than_outputs_are_refused_where_they_name_the_classes(self) -> None:
        network, (images, labels) = half(), halves()
        with pytest.raises(InputError, match=r"returns 2 classes, the data has 3 .*named by the network itself"):
            adacanon.doctor(network, [(images, labels)], class_names=NAMES, class_source="the network itself")

    def test_the_model_of_the_tests_is_found(self) -> None:
        found = own_names(NamedMarks())
        assert found is not None
        assert found.names[0] == "zero"


class TestFiles:
    @pytest.mark.parametrize(
        "text",
        [
            "cat\ndog\neel\n",
            "\ufeffcat\r\ndog \r\n eel",
            '["cat", "dog", "eel"]',
            '{"2": "eel", "0": "cat", "1": "dog"}',
            '{"eel": 2, "cat": 0, "dog": 1}',
        ],
    )
    def test_lines_lists_and_mappings(self, text: str, tmp_path: Path) -> None:
        (tmp_path / "names").write_text(text, encoding="utf-8")
        assert read_class_names(tmp_path / "names") == NAMES

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('["cat", "dog"', "is no JSON"),
            ('{"0": "cat", "2": "dog"}', "expected a list of names, or an object"),
            ('{"names": ["cat"]}', "expected a list of names, or an object"),
            ("[1, 2]", "expected a list of names, or an object"),
        ],
    )
    def test_other_content_is_refused(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "names.json").write_text(text)
        with pytest.raises(DataError, match=message):
            read_class_names(tmp_path / "names.json")
