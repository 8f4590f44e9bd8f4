"""What pages say and show, for every kind of input and answer."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Confidence,
    GridSearch,
    Monotone,
    NegativeEntropy,
    RandomSearch,
)
from adacanon.core import Canonical, Drawing, Points
from adacanon.errors import DataError, InputError
from adacanon.explain import Shown, page
from adacanon.graphs import EncodedANLSF, NodeRotations, band_coefficients, dyadic, framed_graphs, node_anlsf
from adacanon.images import Dilations, Reflections, Translations, Truncations, UNet, Windows
from adacanon.images import Rotations as ImageRotations
from adacanon.points import AxisRotations, Isometries, PointNet, Rotations, Unpacked
from cases.explained import Flips, Largest, classifier, cycles, of_clouds, of_graphs, of_images, pictures, rods

NAMES = ["cat", "dog", "<script>alert('cow')</script>"]


def sections(text: str) -> list[str]:
    """The parts of a page that are about one input each."""
    return re.findall(r"<section>(.*?)</section>", text, flags=re.S)[:-1]


def cells(text: str) -> list[str]:
    return re.findall(r'<figure class="(?:leads)? (?:wide)?">.*?</figure>', text, flags=re.S)


class TestInputsAndClasses:
    def test_a_page_shows_the_first_inputs_and_says_which(self) -> None:
        text = page(of_clouds(), samples=2, moves=0)
        assert len(sections(text)) == 2
        assert "Shown are the inputs 0, 1 of a batch of 3, counted from 0." in text
        assert "All 3 inputs of the batch are shown." in page(of_clouds(), moves=0)

    def test_inputs_may_be_named_by_their_numbers_and_have_names(self) -> None:
        text = page(of_images(), index=[2], names=["a.png", "b.png", "c.png"], moves=0)
        assert len(sections(text)) == 1
        assert "<h2>c.png</h2>" in text
        assert "a.png" not in text

    def test_leading_classes_come_first_with_their_scores(self) -> None:
        found = of_images()
        (section, *_) = sections(page(found, classes=NAMES, top=2, moves=0))
        shown = cells(section)
        assert len(shown) == 3
        best, second = found.scores[0].topk(2).indices.tolist()
        assert f"score {float(found.scores[0, best]):.4g}" in shown[1]
        assert f"score {float(found.scores[0, second]):.4g}" in shown[2]
        assert 'class="leads' in shown[1]
        assert 'class="leads' not in shown[2]

    def test_labels_say_whether_the_answer_is_right(self) -> None:
        found = of_images()
        answers = found.logits.argmax(1)
        wrong = (answers + 1) % 3
        assert page(found, labels=answers, moves=0).count("so the answer is right") == 3
        assert page(found, labels=wrong.tolist(), moves=0).count("so the answer is wrong") == 3

    def test_the_answer_under_a_decreasing_prior_is_the_largest_output(self) -> None:
        model = Canonicalized(classifier(), ImageRotations(), prior=Monotone(torch.neg)).eval()
        found = model.canonicalize(pictures())
        text = page(found, classes=["a", "b", "c"], samples=1, moves=0)
        assert f"The answer is {'abc'[int(model(pictures())[0].argmax())]}," in text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"samples": 0}, "samples must be a positive number"),
            ({"index": [3]}, "index must name inputs 0 to 2"),
            ({"index": []}, "index must name inputs 0 to 2"),
            ({"top": 0}, "top must be a positive number"),
            ({"moves": -1}, "moves must be a number from 0"),
            ({"classes": ["a"]}, "The network has 3 classes, got 1 names"),
            ({"classes": "abc"}, "classes must be a sequence of names"),
            ({"labels": [0]}, "labels must be one for each of 3 inputs"),
            ({"names": ["a"]}, "names must be one for each of 3 inputs"),
        ],
        ids=lambda value: str(value) if isinstance(value, dict) else "",
    )
    def test_what_does_not_fit_is_refused(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            page(of_images(), **arguments)


class TestPageAsAFile:
    @pytest.mark.parametrize("make", [of_clouds, of_images, of_graphs])
    def test_it_needs_nothing_from_elsewhere(self, make: Callable[[], Canonical]) -> None:
        text = page(make(), samples=1).replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?:|//cdn|import\s*\(|@import|url\(|<link", text) == []
        assert all(address.startswith("data:") for address in re.findall(r'(?:src|href)="([^"]*)"', text))

    @pytest.mark.parametrize("make", [of_clouds, of_images])
    def test_values_are_escaped(self, make: Callable[[], Canonical]) -> None:
        text = page(make(), classes=NAMES, title="<b>", names=["<i>"] * 3, samples=1, moves=1)
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
        assert "<h1>&lt;b&gt;</h1>" in text
        assert "<h2>&lt;i&gt;</h2>" in text

    def test_every_picture_is_also_told_in_words(self) -> None:
        for make in (of_clouds, of_images, of_graphs):
            text = page(make(), samples=1, moves=0)
            drawn = re.findall(r"<(?:canvas|img|svg)[^>]*>", text)
            assert len(drawn) >= 3
            assert all(re.search(r'(?:alt|aria-label)="[^"]{10,}"', tag) for tag in drawn)

    def test_four_clouds_of_1024_points_take_less_than_two_megabytes(self) -> None:
        found = Canonicalized(Largest(5), Rotations()).eval().canonicalize(rods(4, 1024))
        assert len(page(found, moves=1)) < 1_000_000

    def test_it_is_saved_whole_and_its_path_returned(self, tmp_path: Path) -> None:
        path = of_images().save(tmp_path / "new" / "page.html", samples=1, moves=0)
        assert path == tmp_path / "new" / "page.html"
        assert path.read_text(encoding="utf-8").startswith("<!doctype html>")

    def test_a_notebook_shows_it_in_a_frame(self) -> None:
        shown = of_images().show(samples=1, moves=0)
        assert isinstance(shown, Shown)
        frame = shown._repr_html_()
        assert frame.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
        assert "<script" not in frame
        assert 'found.save("page.html")' in repr(shown)

    def test_missing_packages_are_named_with_what_to_type(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("adacanon.explain.answer_page.find_spec", lambda name: None)
        with pytest.raises(DataError, match=r'jinja2 and pillow. Hint: pip install "adacanon\[explain\]"'):
            page(of_images())


class TestOutcome:
    def test_an_outcome_is_pickled_without_its_model(self) -> None:
        hidden = classifier()
        found = Canonicalized(lambda x: hidden(x), ImageRotations()).eval().canonicalize(pictures())
        again = pickle.loads(pickle.dumps(found))
        assert again.model is None
        assert again.given is None
        assert torch.equal(again.forms(), found.forms())
        text = page(again)
        assert "The model that found this is not known here" in text
        assert "Score over the angle" not in text
        assert len(cells(text)) == 12

    def test_nothing_of_a_model_in_training_is_changed(self) -> None:
        network = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(144), nn.Linear(144, 3), nn.Dropout())
        model = Canonicalized(network, ImageRotations(), RandomSearch(8))
        found = model.canonicalize(pictures())
        state = {name: value.clone() for name, value in model.state_dict().items()}
        random = torch.get_rng_state()
        page(found, samples=1)
        assert all(module.training for module in model.modules())
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in state.items())
        assert torch.equal(random, torch.get_rng_state())

    def test_inputs_that_require_gradients_have_pages_too(self) -> None:
        model = Canonicalized(classifier(), ImageRotations()).eval()
        assert "Score over the angle" in page(model.canonicalize(pictures().requires_grad_()), samples=1)

    def test_pages_of_one_outcome_are_the_same(self) -> None:
        found = of_clouds()
        assert page(found, samples=1) == page(found, samples=1)


class Arrow(nn.Module):
    """A vector, a pose or any other numbers of a cloud, and a confidence."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.scores = Largest(numbers + 1)

    def forward(self, points: Tensor) -> Tensor:
        return self.scores(points)


class Labels(nn.Module):
    """Class scores of every point."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, points: Tensor) -> Tensor:
        return 3 * self.linear(points)


def shared(network: nn.Module, g: Any, **options: Any) -> str:
    model = Canonicalized(network, Rotations(), AnchoredSearch(24), **options).eval()
    return page(model.canonicalize(g), samples=1, moves=2)


class TestAnswers:
    def test_a_vector_is_an_arrow_on_the_cloud(self) -> None:
        text = shared(Arrow(3), rods(), prior=Confidence(), answers="vectors")
        assert "The answer is a vector, carried back to the input: (" in text
        assert '"lines": [[0.0, 0.0, 0.0, ' in text
        assert "Shared form" in text
        assert re.search(r"The answer of the model changed by (less than )?[\d.e-]+ % of its length", text)

    def test_a_pose_is_three_arrows(self) -> None:
        text = shared(Arrow(9), rods(), prior=Confidence(), answers="rotations")
        assert "its three axes are drawn as arrows" in text

    def test_a_number_is_told(self) -> None:
        assert "The answer: " in shared(Arrow(1), rods(), prior=Confidence())

    def test_labels_of_points_are_colours(self) -> None:
        text = shared(Labels(), rods(), prior=NegativeEntropy())
        assert "The answer is a class for every point" in text
        assert re.search(r"The answer of the model was another one for [\d.e-]+ % of the points", text)

    def test_classes_under_a_shared_prior_are_told_with_their_scores(self) -> None:
        text = shared(Largest(), rods(), prior=NegativeEntropy())
        assert re.search(r"The answer is class \d\. Scores: class \d", text)

    def test_a_map_of_classes_is_a_mask_over_the_image(self) -> None:
        network = UNet(3, widths=(4, 8))
        model = Canonicalized(
            network, ImageRotations("disc"), GridSearch(4), prior=NegativeEntropy(axis=1), answers="maps"
        )
        text = page(model.eval().canonicalize(pictures()), classes=["sky", "road", "car"], samples=1, moves=2)
        assert re.search(
            r"The answer is a class for every pixel, carried back to the input: (sky|road|car) \d+ %", text
        )
        assert len(re.findall(r'<img class="sharp"', text)) == 3
        assert re.search(r"The answer of the model was another one for [\d.e-]+ % of the pixels", text)

    def test_a_temperature_shows_weights_and_the_effective_number(self) -> None:
        model = Canonicalized(classifier(), ImageRotations(), GridSearch(12), temperature=0.5).eval()
        found = model.canonicalize(pictures())
        text = page(found, samples=1, moves=0)
        assert found.effective_forms is not None
        number = float(found.effective_forms[0, found.logits[0].argmax()])
        assert f"they count like {number:.1f} forms of equal weight" in text
        assert "Weights of the candidates" in text
        assert "Weights of the candidates" not in page(of_images(), samples=1, moves=0)


class TestFamilies:
    @pytest.mark.parametrize(
        ("family", "title"),
        [
            (ImageRotations(), "Score over the angle"),
            (Dilations(), "Score over the parameter"),
            (Translations(), "Score over both parameters"),
            (Reflections("both"), "Score of the candidates"),
            (Windows(), "Score of the candidates"),
            (Truncations(), "Score of random transformations"),
        ],
        ids=repr,
    )
    def test_every_space_of_images_has_a_landscape(self, family: Any, title: str) -> None:
        text = page(Canonicalized(classifier(), family).eval().canonicalize(pictures()), samples=1, moves=1)
        assert title in text
        assert "The input was moved 1 times by random transformations" in text

    @pytest.mark.parametrize("family", [Rotations(), AxisRotations((0, 0, 1)), Isometries()], ids=repr)
    def test_clouds_with_masks_are_shown_without_their_padding(self, family: Any) -> None:
        mask = torch.arange(80) < torch.tensor([[80], [30], [50]])
        model = Canonicalized(Unpacked(PointNet(2)), family).eval()
        text = page(model.canonicalize((rods(), mask)), index=[1], moves=1)
        assert "A cloud of 30 points." in text
        assert '"points": 30' in text

    def test_a_symmetric_cloud_is_said_to_determine_nothing(self) -> None:
        corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
        model = Canonicalized(Largest(), Rotations(), prior=NegativeEntropy()).eval()  # one pose for all classes
        with pytest.warns(UserWarning, match="anchor"):
            found = model.canonicalize(torch.stack([corners, rods(1, 8)[0]]))
        symmetric, other = sections(page(found, moves=0))
        assert "too symmetric to determine" in symmetric
        assert "that the input itself determines" in other

    def test_evaluations_are_told(self) -> None:
        assert "The network was evaluated 24 times per input" in page(of_clouds(), samples=1, moves=0)

    def test_graphs_are_drawn_with_their_signals_and_forms_as_tables_by_band(self) -> None:
        text = page(of_graphs(), samples=1)
        assert "A graph of 8 nodes and 8 edges with 2 numbers on every node." in text
        assert "basis change of band 1" in text
        assert text.count(">band 3</text>") == 2
        assert "by numbering its nodes at random" in text
        assert re.search(r"The answer of the model never changed; its scores changed by (less than )?[\d.e-]+ %", text)

    def test_encoded_and_framed_graphs_and_node_level_models_have_pages(self) -> None:
        encoded = EncodedANLSF(2, classes=2).eval()
        for given in (cycles(), framed_graphs(cycles(), dyadic(6))):
            assert "A graph of 8 nodes" in page(encoded.canonicalize(given), samples=1, moves=1)
        model = node_anlsf(NodeRotations(dyadic(3), rows=2), channels=2, classes=2).eval()
        assert "A graph of 8 nodes" in page(model.canonicalize(cycles()), samples=1, moves=1)

    def test_coefficients_are_shown_as_they_are_unless_the_graphs_are_given(self) -> None:
        model = of_graphs().model
        assert model is not None
        found = model.canonicalize(band_coefficients(cycles(), dyadic(3)))
        text = page(found, samples=1)
        assert "A graph of" not in text
        assert "act on what is computed from an input" in text
        assert "A graph of 8 nodes" in page(found, samples=1, inputs=cycles(), moves=0)

    def test_a_family_without_hooks_gets_numbers_and_lines(self) -> None:
        model = Canonicalized(nn.Linear(5, 2), Flips(), GridSearch()).eval()
        text = page(model.canonicalize(torch.randn(2, 5)), samples=1)
        assert re.search(r"parameters [01]; score", text)
        assert "5 numbers from" in text
        assert "object at 0x" not in text

    def test_hooks_of_a_family_are_used(self) -> None:
        class Told(Flips):
            def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
                return [["forwards", "backwards"][i] for i in u.tolist()]

            def picture(self, form: Tensor) -> Drawing:
                return Drawing('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>', f"{len(form)} beads")

        text = page(Canonicalized(nn.Linear(5, 2), Told(), GridSearch()).eval().canonicalize(torch.randn(2, 5)))
        assert re.search(r"(forwards|backwards); score", text)
        assert 'alt="5 beads" src="data:image/svg+xml;base64,' in text

    def test_a_family_of_ones_own_may_draw_clouds(self) -> None:
        class Solid(Flips):
            def picture(self, form: Tensor) -> Points:
                return Points(form.reshape(-1, 3))

        text = page(Canonicalized(nn.Linear(6, 2), Solid(), GridSearch()).eval().canonicalize(torch.randn(1, 6)))
        assert text.count('<canvas class="cloud"') == 3
