"""The doctor: what it measures is so, what does not fit is refused, and the command writes its page."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from markupsafe import escape
from PIL import Image
from torch import Tensor, nn

import adacanon
from adacanon import Canonicalized, GridSearch
from adacanon.cli import main
from adacanon.diagnosis.candidates import applicable, families_of_images, ordered_candidates
from adacanon.diagnosis.order import order_of
from adacanon.diagnosis.readings import answers, reading
from adacanon.diagnosis.rules import CANDIDATES
from adacanon.errors import InputError, ScoreError, ShapeError, UnknownNameError
from adacanon.images import Rotations, Windows
from adacanon.points import Rotations as CloudRotations
from adacanon.reports.doctor_page import cautions, verdict
from adacanon.spaces import SO3, Box, Circle, Finite
from cases.brought_models import NUMERALS, Half, colour, half, halves, mark, twelve
from cases.networks import cloud_network, clouds

TEN = list(NUMERALS)


@pytest.fixture(scope="module")
def diagnosis() -> adacanon.diagnosis.Diagnosis:
    images, labels = halves()
    batches = [(images[:25], labels[:25]), (images[25:], labels[25:])]
    return adacanon.doctor(half(), batches, families=("rotation", "truncation"), class_names=("up", "down"))


class TestMeasures:
    def test_the_search_is_that_of_the_canonicalized_network(self) -> None:
        """On the same transformed inputs, for every K and temperature; no symmetry of the network makes scores tie."""
        images, labels = halves()
        family, network = Rotations("reflection"), linear()
        finding = adacanon.doctor(network, [(images, labels)], families=["rotation"]).findings[0]
        angles = Circle().sample(len(images), generator=torch.Generator().manual_seed(0))
        moved = family.transform(family.prepare(images), angles, torch.arange(len(images)))
        assert len(finding.softened) == 3 * 4
        for searched in (*finding.searched, *finding.softened):
            search, temperature = GridSearch(searched.candidates), searched.temperature
            model = Canonicalized(network, family, search, temperature=temperature).eval()
            hits = (model(moved).argmax(1) == labels).double().mean()
            assert searched.transformed.accuracy == pytest.approx(100 * float(hits))
            hits = (model(images).argmax(1) == labels).double().mean()
            assert searched.as_given.accuracy == pytest.approx(100 * float(hits))
            assert searched.passes == model.canonicalize(moved).evaluations

    def test_one_candidate_is_the_network_alone(self, diagnosis: adacanon.diagnosis.Diagnosis) -> None:
        for finding in diagnosis.findings:
            first = finding.searched[0]
            assert first.candidates == first.passes == 1
            assert (first.transformed, first.as_given) == (finding.alone_transformed, finding.alone_as_given)
            assert first.recovered == 0
            assert first.changed == finding.changed

    def test_differences_are_those_of_the_accuracies(self, diagnosis: adacanon.diagnosis.Diagnosis) -> None:
        finding = diagnosis.findings[0]
        assert diagnosis.alone.accuracy == 100
        assert finding.fall == pytest.approx(finding.alone_transformed.accuracy - finding.alone_as_given.accuracy)
        assert finding.fall < -20
        assert finding.fall_error > 0
        assert finding.changed == pytest.approx(-finding.fall)
        for searched in finding.searched:
            gained = searched.transformed.accuracy - finding.alone_transformed.accuracy
            assert searched.recovered == pytest.approx(gained)
            lost = finding.alone_as_given.accuracy - searched.as_given.accuracy
            assert searched.cost == pytest.approx(lost)
            assert (searched.cost_error > 0) == (lost != 0)
        assert max(searched.cost for searched in finding.searched) > 0

    def test_the_verdict_states_what_a_search_brings_back_and_what_it_costs(
        self, diagnosis: adacanon.diagnosis.Diagnosis
    ) -> None:
        for finding, figures in zip(diagnosis.findings, diagnosis.as_json()["findings"], strict=True):
            choice, text = finding.choice, verdict(figures)
            assert choice is not None
            assert f"brought back {choice.recovered:+.1f} ± {choice.recovered_error:.1f} points" in text
            assert f"cost {choice.cost:+.1f} ± {choice.cost_error:.1f} points" in text
            assert f"{choice.plain_as_given:.1f} % alone, {choice.wrapped_as_given:.1f} % wrapped" in text
            assert f"{choice.plain_transformed:.1f} % alone, {choice.wrapped_transformed:.1f} % wrapped" in text
            assert text.endswith(finding.advice.reason)
            assert escape(finding.advice.reason) in diagnosis.page()

    def test_a_network_that_knows_the_symmetry_needs_nothing(self) -> None:
        images, labels = halves(12)
        found = adacanon.doctor(half(), [(images, labels)], families=["reflection"])
        (finding,) = found.findings
        assert (finding.fall, finding.changed) == (0, 0)
        assert "does not fall beyond chance" in verdict(found.as_json()["findings"][0])
        assert [s.passes for s in finding.searched] == [1, 2, 2, 2]

    def test_probabilities_are_told_from_logits_and_ranked_alike(self, diagnosis: adacanon.diagnosis.Diagnosis) -> None:
        images, labels = halves()
        softmax = nn.Sequential(half(), nn.Softmax(1))
        found = adacanon.doctor(softmax, [(images, labels)], families=["rotation"])
        assert (diagnosis.outputs, found.outputs) == ("logits", "probabilities")
        alone = diagnosis.findings[0].alone_transformed
        assert found.findings[0].alone_transformed.accuracy == alone.accuracy
        assert found.alone.confidence == pytest.approx(diagnosis.alone.confidence, abs=1e-4)

    def test_bytes_are_scaled_and_a_limit_is_kept(self) -> None:
        images, labels = halves()
        for white, kind in ((255, torch.uint8), (65535, torch.uint16)):
            loader = [((white * images).to(kind), labels)] * 2
            found = adacanon.doctor(half(), loader, families=["reflection"], limit=50)
            assert found.samples == 50
            assert float(found.findings[0].examples[0].given.max()) <= 1
        assert found.alone.accuracy == 100
        assert found.alone.confidence < 100

    def test_clouds_have_rotations(self) -> None:
        network = cloud_network(dtype=torch.float32)
        found = adacanon.doctor(network, [(clouds(10, dtype=torch.float32), torch.arange(10) % 3)], candidates=(1, 4))
        assert [finding.family for finding in found.findings] == ["rotation"]
        assert found.page().count('class="cloud"') == 3 * len(found.findings[0].examples)

    def test_other_families_by_name(self) -> None:
        images, labels = halves(6)
        found = adacanon.doctor(half(), [(images, labels)], families={"crops": Windows()}, candidates=(1, 55, 99))
        assert [s.passes for s in found.findings[0].searched] == [1, 55, 55]

    def test_the_mode_of_the_network_is_given_back_and_dropout_is_off(self) -> None:
        network = nn.Sequential(nn.Dropout(0.9), nn.Dropout(0.9), half()).train()
        network[1].eval()
        images, labels = halves(10)
        found = adacanon.doctor(network, [(images, labels)], families=["reflection"])
        assert found.alone.accuracy == 100
        assert [module.training for module in network] == [True, False, True]

    def test_progress_counts_forward_passes(self) -> None:
        images, labels = halves(10)
        network, told = Counting(), list[tuple[int, int]]()
        adacanon.doctor(network, [(images, labels)], families=["rotation"], on_progress=lambda *done: told.append(done))
        assert told[-1] == (2 * 10 * 64, 2 * 10 * 64)
        assert network.rows == 2 * 10 * 64 + 10 + 8  # the network alone, and the first ones to try it

    def test_examples_show_what_is_rescued_and_what_is_spoiled(self, diagnosis: adacanon.diagnosis.Diagnosis) -> None:
        examples = diagnosis.findings[0].examples
        assert len(examples) == 6
        changed = [example for example in examples if example.before != example.after]
        assert changed
        network = half()
        for example in examples:
            assert int(network(example.transformed.unsqueeze(0)).argmax()) == example.before
        # the form is that of the predicted class, which is sure of it there
        scores = network(torch.stack([example.canonical for example in examples]))
        others = network(torch.stack([example.transformed for example in examples]))
        after = torch.tensor([[example.after] for example in examples])
        assert bool((scores.gather(1, after) >= others.gather(1, after)).all())


def linear() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 2))


class Counting(Half):
    rows = 0

    def forward(self, images: Tensor) -> Tensor:
        self.rows += len(images)
        return super().forward(images)


class TestOrderOfClasses:
    """A network that makes no mistake, and labels that count classes in another order."""

    def examined(self, order: list[int], copies: int = 4) -> adacanon.diagnosis.Diagnosis:
        images = torch.stack([mark(label) for label in range(12)]).unsqueeze(1).repeat(copies, 1, 1, 1)
        labels = torch.tensor(order).repeat(copies)
        return adacanon.doctor(twelve(), [(images, labels)], families=["reflection"], candidates=(1, 2))

    def test_the_right_order_gives_no_warning(self) -> None:
        found = self.examined(list(range(12)))
        assert (found.alone.accuracy, found.order.reordered, found.order.doubtful) == (100, 100, False)
        assert cautions(found.as_json(), serious=True) == []
        assert 'class="warning"' not in found.page()

    @pytest.mark.parametrize(
        ("order", "right"),
        [
            ([*range(1, 12), 0], 0),
            (sorted(range(12), key=str), 2),  # 0 and 1 keep their places: twice as good as chance
        ],
    )
    def test_another_order_gives_a_warning_and_no_verdict_of_health(self, order: list[int], right: int) -> None:
        found = self.examined(order, copies=40)
        assert found.alone.accuracy == pytest.approx(100 * right / 12)
        assert found.order.doubtful
        assert found.order.reordered == 100
        texts = cautions(found.as_json(), serious=True)
        (text,) = [text for text in texts if "would be" in text]
        assert f"would be 100.0 % instead of {100 * right / 12:.1f} %" in text
        outputs = [str(order[output]) for output in range(12)]
        assert f"labels that fit best, in the order of the outputs: {' '.join(outputs)}." in text
        assert ("order as text" in text) == (right == 2)
        for text in texts:
            assert f'<p class="warning" role="alert"><strong>Warning.</strong> {escape(text)}</p>' in found.page()
        assert {finding.advice.recommendation for finding in found.findings} == {"check first"}

    def test_guessing_is_at_chance_and_little_better_is_not(self) -> None:
        generator = torch.Generator().manual_seed(0)
        labels = torch.randint(10, (1000,), generator=generator)
        scores = torch.rand(1000, 10, generator=generator)
        guess = order_of(scores.argmax(1), labels, classes=10)
        assert guess.doubtful
        assert guess.chance == 10
        assert guess.chance_error == pytest.approx(100 * math.sqrt(0.1 * 0.9 / 1000))
        scores[torch.arange(200), labels[:200]] += 1
        assert not order_of(scores.argmax(1), labels, classes=10).doubtful

    def test_chance_is_the_mean_over_all_orders_however_classes_are_shared_out(self) -> None:
        labels, predicted = torch.tensor([0, 0, 0, 0, 1, 2]), torch.tensor([0, 0, 1, 0, 1, 0])
        orders = torch.tensor(list(itertools.permutations(range(3))))
        mean = (orders[:, predicted] == labels).double().mean()
        assert order_of(predicted, labels, classes=3).chance == pytest.approx(100 * float(mean))

    def test_samples_of_one_class_alone_are_no_reason_to_doubt(self) -> None:
        """Every output comes with that class; but only one can stand for it."""
        predicted = torch.tensor([3] * 40 + [0, 1, 2, 4, 5, 6] * 10)
        found = order_of(predicted, torch.full((100,), 3), classes=10)
        assert (found.reordered, found.doubtful) == (40, False)


class TestReadings:
    def test_calibration_error_against_a_loop(self) -> None:
        generator = torch.Generator().manual_seed(1)
        scores = 2 * torch.randn(500, 3, generator=generator)
        labels = torch.randint(3, (500,), generator=generator)
        found = reading(answers(scores), labels)
        probabilities = scores.double().softmax(1).numpy()
        bins: dict[int, list[tuple[float, float]]] = {}
        for row, label in zip(probabilities, labels.tolist(), strict=True):
            confidence = row.max()
            bins.setdefault(min(int(confidence * 10), 9), []).append((confidence, float(row.argmax() == label)))
        expected = sum(abs(sum(c - r for c, r in rows)) for rows in bins.values()) / 500
        assert found.calibration_error == pytest.approx(100 * expected)
        assert sum(b.share for b in found.bins) == pytest.approx(100)
        p = found.accuracy / 100
        assert found.error == pytest.approx(100 * math.sqrt(p * (1 - p) / 499))

    def test_a_perfectly_calibrated_classifier_has_no_error(self) -> None:
        scores = torch.tensor([[0.75, 0.25]]).log().expand(4, 2)
        assert reading(answers(scores), torch.tensor([0, 0, 0, 1])).calibration_error == pytest.approx(0, abs=1e-5)


class TestCandidates:
    def test_on_the_circle_the_first_ones_are_equally_spaced(self) -> None:
        points = ordered_candidates(Circle(), 64)
        assert float(points[0]) == 0
        for count in CANDIDATES:
            torch.testing.assert_close(points[:count].sort().values, Circle().cover(count).sort().values)

    @pytest.mark.parametrize("space", [Box((0.0, -1.0), (1.0, 1.0)), Finite(30), SO3()], ids=repr)
    def test_the_identity_is_first_and_none_comes_twice(self, space: adacanon.core.Space) -> None:
        points = ordered_candidates(space, 20)
        assert len(points) == 20
        assert float(space.distance(points[0], space.identity())) == 0
        distances = space.distance(points.unsqueeze(0), points.unsqueeze(1))
        assert bool((distances + torch.eye(20) > 0).all())
        assert len(ordered_candidates(space, 1)) == 1

    def test_a_finite_set_has_no_more_candidates_than_elements(self) -> None:
        assert sorted(ordered_candidates(Finite(3), 64).tolist()) == [0, 1, 2]

    def test_families_follow_from_the_shape(self) -> None:
        assert applicable(torch.zeros(2, 3, 8, 8)) == families_of_images("reflection")
        assert applicable(torch.zeros(2, 3, 8, 8), ("rotation",), outside="disc") == {"rotation": Rotations("disc")}
        assert applicable(torch.zeros(2, 9, 3)) == {"rotation": CloudRotations()}
        with pytest.raises(ShapeError, match="The doctor knows images"):
            applicable(torch.zeros(2, 9, 4))
        with pytest.raises(UnknownNameError, match="got turning"):
            applicable(torch.zeros(2, 3, 8, 8), ("turning",))


class TestRefuses:
    def examined(self, network: object, inputs: Tensor, labels: Tensor, **options: object) -> None:
        adacanon.doctor(network, [(inputs, labels)], **options)

    def test_labels_beyond_the_classes_of_the_network(self) -> None:
        images, _ = halves(4)
        with pytest.raises(InputError, match="returns 2 classes, but labels go from 0 to 3"):
            self.examined(half(), images, torch.arange(4))

    def test_another_number_of_classes_than_the_data_has(self) -> None:
        with pytest.raises(InputError, match=r"returns 2 classes, the data has 3 \(a, b, c"):
            self.examined(half(), *halves(4), class_names=("a", "b", "c"))

    def test_grey_images_for_a_colour_network(self) -> None:
        with pytest.raises(InputError, match=r"refused inputs of shape \(4, 1, 8, 8\).*--channels 3"):
            self.examined(colour(), *halves(4))

    @pytest.mark.parametrize(
        ("network", "channels", "message"),
        [
            (nn.Conv2d(1, 2, 3), 3, "first layer takes 1 channels, --channels 1"),
            (nn.Sequential(nn.Flatten(), nn.Linear(64, 2)), 3, "takes 64 numbers, such as --channels 1 --size 8"),
            (nn.Sequential(nn.Flatten(), nn.Linear(192, 2)), 1, "takes 192 numbers, such as --channels 3 --size 8"),
            (nn.Sequential(nn.Flatten(), nn.Linear(49, 2)), 1, "takes 49 numbers, such as --channels 1 --size 7"),
            (lambda x: x.view(-1, 5, 7), 1, "images have 1 channels; --channels 1 or 3 changes that, and --size"),
        ],
    )
    def test_the_option_that_helps_is_named(self, network: object, channels: int, message: str) -> None:
        images, labels = halves(4)
        with pytest.raises(InputError, match=message):
            self.examined(network, images.expand(-1, channels, -1, -1), labels)

    @pytest.mark.parametrize(
        ("network", "message"),
        [
            (lambda x: half()(x)[:, :1], "one score for each class, got a single one"),
            (lambda x: x, r"scores of shape \(4, classes\), got \(4, 1, 8, 8\)"),
            (lambda x: {"logits": x}, "got dict"),
            (lambda x: torch.full((4, 2), math.nan), "NaN"),
        ],
    )
    def test_outputs_that_are_no_scores(self, network: object, message: str) -> None:
        with pytest.raises((ShapeError, InputError), match=message):
            self.examined(network, *halves(4))

    def test_labels_that_are_no_classes_and_loaders_that_give_none(self) -> None:
        images, labels = halves(4)
        with pytest.raises(ShapeError, match="one class index per input"):
            self.examined(half(), images, labels.float())
        with pytest.raises(InputError, match="no samples"):
            adacanon.doctor(half(), [])
        with pytest.raises(InputError, match=r"pairs \(inputs, labels\)"):
            adacanon.doctor(half(), [images])

    def test_inputs_and_scores_that_are_not_finite(self) -> None:
        images, labels = halves(4)
        with pytest.raises(ScoreError, match="NaN or infinite scores for inputs transformed"):
            self.examined(lambda x: half()(x) / (x.amax((1, 2, 3)) > 0.7).float()[:, None], images, labels)
        images[2, 0, 0, 0] = math.nan
        with pytest.raises(InputError, match="among samples 0 to 3"):
            self.examined(half(), images, labels)

    @pytest.mark.parametrize("counts", [(), (0, 4), (2.5,)])
    def test_numbers_of_candidates_that_mean_nothing(self, counts: tuple) -> None:
        with pytest.raises(InputError, match="positive whole numbers"):
            self.examined(half(), *halves(4), candidates=counts)

    def test_windows_smaller_than_a_pixel(self) -> None:
        with pytest.raises(InputError, match="smaller than a pixel"):
            self.examined(half(), *halves(4), families={"crops": Windows(0.05)})


class TestCommand:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        images, labels = halves()
        np.savez(tmp_path / "halves.npz", images=images.numpy()[:, 0], labels=labels.numpy(), class_names=["up", "low"])
        return tmp_path / "halves.npz"

    def test_it_writes_a_page_and_the_figures(
        self, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["doctor", "cases.brought_models:half", "--data", str(data), "--output", str(tmp_path / "out")]
        assert main([*words, "--families", "rotation,reflection", "--limit", "30", "--threads", "1"]) == 0
        printed = capsys.readouterr().out
        assert "rotation: Transformed inputs take the network alone from 100.0 %" in " ".join(printed.split())
        figures = json.loads((tmp_path / "out" / "doctor.json").read_text())
        assert figures["samples"] == 30
        assert [finding["family"] for finding in figures["findings"]] == ["rotation", "reflection"]
        assert [s["candidates"] for s in figures["findings"][0]["searched"]] == [1, 4, 16, 64]
        page = (tmp_path / "out" / "index.html").read_text()
        assert "http" not in page.replace("http-equiv", "")
        assert "<script" not in page

    @pytest.mark.parametrize(
        ("names", "words", "message"),
        [
            ([str(number) for number in range(12)], ["cases.brought_models:twelve"], "9 → 9, 10 → 10, 11 → 11"),
            (TEN, ["cases.brought_models:ten", "--classes", *TEN], "zero → 0, one → 1, two → 2"),
            (TEN, ["cases.brought_models:ten", "--classes", ",".join(TEN)], "zero → 0, one → 1, two → 2"),
            (["two", "seven"], ["cases.brought_models:ten", "--classes", *TEN], "seven → 7, eight → 8, nine → 9"),
            (TEN, ["cases.brought_models:named_ten"], "order was taken from the network itself, its class_names."),
            (["two", "seven"], ["cases.brought_models:named_ten"], "Note: 8 of 10 classes have no samples: zero, one"),
            (TEN, ["cases.brought_models:ten", "--classes", "LISTED"], "The order was taken from the file"),
            (
                [str(number) for number in range(12)],
                ["cases.brought_models:text_order", "--classes", *sorted(map(str, range(12)))],
                "0 → 0, 1 → 1, 10 → 2, 11 → 3, 2 → 4",
            ),
        ],
    )
    def test_a_perfect_network_is_perfect_whatever_its_folders_are_called(
        self, names: list[str], words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.examined(names, words, tmp_path) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert message in printed
        assert "Warning" not in printed
        assert json.loads((tmp_path / "out" / "doctor.json").read_text())["alone"]["accuracy"] == 100

    def examined(self, names: list[str], words: list[str], folder: Path) -> int:
        for name in names:
            label = TEN.index(name) if name in TEN else int(name)
            pixels = (255 * mark(label)).byte().numpy()
            (folder / "data" / name).mkdir(parents=True)
            for number in range(8):
                Image.fromarray(pixels).save(folder / "data" / name / f"{number}.png")
        (folder / "names.txt").write_text("\n".join(TEN))
        words = [str(folder / "names.txt") if word == "LISTED" else word for word in words]
        options = ["--families", "reflection", "--candidates", "1", "2", "--threads", "1"]
        return main(["doctor", *words, "--data", str(folder / "data"), *options, "--output", str(folder / "out")])

    def test_names_in_the_order_of_the_alphabet_get_a_warning(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.examined(TEN, ["cases.brought_models:ten"], tmp_path) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "eight → 0, five → 1, four → 2" in printed
        assert "Warning: On inputs as given, accuracy is 10.0 %. That cannot be told from always answering" in printed
        assert f"The order that fits best: --classes {' '.join(TEN)}." in printed
        assert "Recommended: check first" in printed

    def test_a_network_in_the_order_of_text_gets_a_warning_that_names_this_order(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.examined([str(number) for number in range(12)], ["cases.brought_models:text_order"], tmp_path) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "would be 100.0 % instead of 16.7 %" in printed
        assert "The order that fits best: --classes 0 1 10 11 2 3 4 5 6 7 8 9. That is their order as text" in printed
        figures = json.loads((tmp_path / "out" / "doctor.json").read_text())
        assert [caution["about"] for caution in figures["cautions"] if caution["serious"]] == ["order"]
        assert figures["order"]["outputs"] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
        assert figures["findings"][0]["advice"]["recommendation"] == "check first"

    def test_folders_that_the_network_does_not_name_are_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.examined(TEN, ["cases.brought_models:named_other"], tmp_path) == 2
        told = capsys.readouterr().err
        assert "got also zero; named without data: cero" in told
        assert "The names of the classes were taken from the network itself, its class_names." in told

    def test_a_stated_accuracy_that_is_missed_gets_a_warning(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["cases.brought_models:ten", "--stated-accuracy", "0.93"]
        assert self.examined(TEN, words, tmp_path) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "far below the stated 93.0 %. Check the order of classes (--classes)" in printed

    def test_clouds_in_a_folder_are_examined(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for number, name in enumerate(("flat", "tall") * 3):
            (tmp_path / "data" / name).mkdir(parents=True, exist_ok=True)
            corners = f"OFF 3 1 0\n0 0 0\n{1 + number} 0 0\n0 1 {5 * (name == 'tall')}\n3 0 1 2\n"
            (tmp_path / "data" / name / f"{number}.off").write_text(corners)
        words = ["doctor", "cases.brought_models:tall", "--data", str(tmp_path / "data"), "--threads", "1"]
        options = ["--points", "20", "--faces", "--normalise", "--candidates", "1", "4"]
        assert main([*words, *options, "--output", str(tmp_path / "out")]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "Inputs: 20 points of every mesh, drawn from its faces uniformly by area; every cloud was" in printed
        assert json.loads((tmp_path / "out" / "doctor.json").read_text())["shape"] == [20, 3]
        assert "scaled to radius 1" in (tmp_path / "out" / "index.html").read_text()

    def test_fewer_folders_than_classes_need_names(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.examined(["two", "seven"], ["cases.brought_models:ten"], tmp_path) == 2
        assert "Hint: --classes" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ["cases.brought_models:half", "--data", "DATA", "--classes", "up"],
                "got also low; named without data: none",
            ),
            (["cases.brought_models:half", "--data", "DATA", "--classes", "up,low,up"], "got up more than once"),
            (["cases.brought_models:half", "--data", "DATA", "--classes", ""], "got an empty one"),
            (["cases.brought_models:half", "--data", "nothing"], "nothing is missing"),
            (["cases.brought_models:colour", "--data", "DATA"], "--channels 3"),
            (["cases.brought_models:half", "--data", "DATA", "--families", "turning"], "got turning"),
            (["no.module:half", "--data", "DATA"], "There is no module no.module"),
            (["cases.brought_models:half", "--data", "DATA", "--classes", "none.txt"], "none.txt is missing. Hint"),
            (["cases.brought_models:half", "--data", "DATA", "--stated-accuracy", "93"], "Hint: 0.93 for 93 %"),
            (["cases.brought_models:half", "--data", "DATA", "--temperatures", "-1"], "from 0 to infinity, got [-1.0]"),
        ],
    )
    def test_what_does_not_fit_gets_a_message_and_exit_code_two(
        self, words: list[str], message: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = [str(data) if word == "DATA" else word for word in words]
        assert main(["doctor", *words, "--threads", "1"]) == 2
        assert message in capsys.readouterr().err


def test_the_library_offers_the_doctor_without_importing_it() -> None:
    program = "import sys, adacanon; assert 'adacanon.diagnosis' not in sys.modules; print(adacanon.doctor.__name__)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "doctor"
    with pytest.raises(AttributeError, match="surgeon"):
        adacanon.surgeon  # noqa: B018
