"""What the doctor warns of: each thing is found where it is, and not where it is not."""

import torch
from scipy.stats import binomtest
from torch import Tensor, nn

import adacanon
from adacanon.diagnosis.order import order_of
from adacanon.diagnosis.readings import at_least, beyond_chance
from cases.brought_models import Half, half, halves, mark, twelve


def found(network: object, inputs: Tensor, labels: Tensor, **options: object) -> dict[str, str]:
    """The warnings and notes by what they are about."""
    diagnosis = adacanon.doctor(network, [(inputs, labels)], families=["reflection"], candidates=(1, 2), **options)
    return {f"{caution.about}{'!' * caution.serious}": caution.text for caution in diagnosis.cautions}


class TestChance:
    def test_the_tail_of_the_binomial_distribution_against_scipy(self) -> None:
        for successes, trials, p in ((0, 5, 0.5), (3, 5, 0.5), (70, 100, 0.6), (1000, 1900, 0.5), (12, 12, 0.9)):
            known = binomtest(successes, trials, p, alternative="greater").pvalue
            assert abs(at_least(successes, trials, p) - known) < 1e-9

    def test_a_majority_guess_is_at_chance_although_it_is_above_one_in_c(self) -> None:
        labels = torch.tensor([0] * 90 + [1] * 10)
        order = order_of(torch.zeros(100, dtype=torch.long), labels, classes=2)
        assert order.near_chance
        assert (order.constant, order.constant_class) == (90, 0)
        assert not order_of(labels, labels, classes=2).near_chance

    def test_few_samples_cannot_be_beyond_chance_even_without_a_mistake(self) -> None:
        for copies, near in ((2, True), (6, False)):
            labels = torch.arange(2).repeat(copies)
            assert order_of(labels, labels, classes=2).near_chance == near

    def test_gains_on_few_samples_are_not_beyond_chance(self) -> None:
        assert not beyond_chance(torch.ones(5))
        assert not beyond_chance(torch.tensor([1.0] * 30 + [-1.0] * 20))
        assert beyond_chance(torch.tensor([1.0] * 40 + [-1.0] * 10))
        assert not beyond_chance(-torch.ones(50))

    def test_a_network_without_training_is_told_from_one_with_wrong_preprocessing(self) -> None:
        images, labels = halves(100)
        untrained = found(lambda x: 0.01 * half()(x).flip(1), images, labels)
        assert "as without training (--weights)" in untrained["chance!"]
        stuck = found(lambda x: half()(x) * 0 + torch.tensor([9.0, 0.0]), images, labels)
        assert "the network answers '0' for nearly every sample" in stuck["chance!"]
        assert "--size" in stuck["chance!"]
        assert "--channels" in stuck["chance!"]
        assert "normalization" in stuck["chance!"]

    def test_two_classes_that_are_exchanged_among_many(self) -> None:
        """Ten of twelve are right, far from chance; the two are named."""
        images = torch.stack([mark(label) for label in range(12)]).unsqueeze(1).repeat(20, 1, 1, 1)
        labels = torch.tensor([1, 0, *range(2, 12)]).repeat(20)
        told = found(twelve(), images, labels, class_names=[f"c{i}" for i in range(12)])
        assert (
            "With some classes exchanged, accuracy on inputs as given would be 100.0 % instead of 83.3 %"
            in (told["order!"])
        )
        assert "--classes c1 c0 c2 c3" in told["order!"]

    def test_a_mediocre_network_gets_no_warning_about_the_order(self) -> None:
        """Mistakes at random fit no other order better; of 40 draws, none or hardly any is warned of."""
        warned = 0
        for seed in range(40):
            generator = torch.Generator().manual_seed(seed)
            labels = torch.randint(5, (300,), generator=generator)
            noise = torch.rand(300, generator=generator) < 0.6
            predicted = torch.where(noise, torch.randint(5, (300,), generator=generator), labels)
            warned += order_of(predicted, labels, classes=5).fits_better
        assert warned <= 2


class TestStated:
    def test_far_below_and_near(self) -> None:
        images, labels = halves(100)
        wrong = labels.clone()
        wrong[:10] = 1 - wrong[:10]
        assert "far below the stated 99.0 %" in found(half(), images, wrong, stated_accuracy=0.99)["stated!"]
        assert "stated!" not in found(half(), images, wrong, stated_accuracy=0.93)
        assert "stated!" not in found(half(), images, labels, stated_accuracy=1.0)


class Noisy(Half):
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(nn.functional.dropout(images, 0.3))  # on also in evaluation mode


class OfTheBatch(Half):
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images - images.mean())


class TestSamples:
    def test_healthy_samples_get_no_warning_and_few_get_a_note(self) -> None:
        assert found(half(), *halves(100)) == {}
        assert "There are 40 samples: one of them is 2.5 points" in found(half(), *halves(40))["samples"]

    def test_a_network_that_is_not_the_same_twice(self) -> None:
        images, labels = halves(100)
        uneven = images * torch.linspace(0.3, 1, 100).reshape(-1, 1, 1, 1)  # the first ones are darker than the rest
        for network in (Noisy(), OfTheBatch()):
            assert "other scores for the same inputs" in found(network, uneven, labels)["unsteady!"]
        assert "unsteady!" not in found(half(), uneven, labels)

    def test_batch_normalization_in_training_mode_is_examined_in_evaluation_mode(self) -> None:
        network = nn.Sequential(nn.BatchNorm2d(1), half()).train()
        assert "unsteady!" not in found(network, *halves(100))
        assert network.training

    def test_one_class_alone(self) -> None:
        images, labels = halves(200)
        told = found(half(), images[labels == 1], labels[labels == 1])
        assert "All samples are of one class, '1'" in told["classes!"]
        assert "chance!" not in told

    def test_copies_and_contradictions(self) -> None:
        images, labels = halves(100)
        images, labels = torch.cat([images, images[:30]]), torch.cat([labels, labels[:30]])
        assert "30 of 130 samples are exact copies" in found(half(), images, labels)["copies"]
        labels[-1] = 1 - labels[-1]
        assert "1 inputs come several times with different labels" in found(half(), images, labels)["copies!"]

    def test_sigmoids_are_not_taken_for_probabilities(self) -> None:
        told = found(nn.Sequential(half(), nn.Sigmoid()), *halves(100))
        assert "as after a sigmoid" in told["outputs"]
        assert "outputs" not in found(nn.Sequential(half(), nn.Softmax(1)), *halves(100))

    def test_images_that_are_too_dark_or_outside_of_the_range(self) -> None:
        images, labels = halves(100)
        assert "scaled twice" in found(half(), images / 255, labels)["range!"]
        assert "outside [0, 1]" in found(half(), 2 * images - 1, labels)["range"]
