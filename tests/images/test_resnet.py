"""ResNet-18: torchvision's names, an oracle for its values, and weights from files of every kind."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from adacanon import Canonicalized, GridSearch
from adacanon.errors import DataError, InputError, ShapeError, UnknownNameError
from adacanon.images import Preprocessing, ResNet18, Rotations, load_weights
from cases.image_cases import images
from oracles.resnet import resnet18

WEIGHTS = Path("weights") / "resnet18_imagenet.npz"
ANIMALS = {"bird", "cat", "deer", "dog", "frog", "horse"}
LAST_ANIMAL = 397


class Tiny(nn.Module):
    """With a normalization layer, whose counter old files lack."""

    def __init__(self, inputs: int = 3) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(inputs, 4), nn.BatchNorm1d(4)


def tiny() -> dict[str, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return Tiny().state_dict()


def write(path: Path, weights: dict[str, Tensor]) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **{key: value.numpy() for key, value in weights.items()})
    elif path.suffix == ".safetensors":
        from safetensors.torch import save_file

        save_file(weights, path)
    else:
        torch.save(weights, path)
    return path


class TestNetwork:
    def test_the_names_are_those_of_torchvision(self) -> None:
        names = set(ResNet18().state_dict())
        norm = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
        expected = {"conv1.weight", "fc.weight", "fc.bias"} | {f"bn1.{key}" for key in norm}
        for layer in (1, 2, 3, 4):
            for block in (0, 1):
                at = f"layer{layer}.{block}"
                expected |= {f"{at}.conv{i}.weight" for i in (1, 2)} | {f"{at}.bn{i}.{k}" for i in (1, 2) for k in norm}
            if layer > 1:
                expected |= {f"layer{layer}.0.downsample.0.weight"}
                expected |= {f"layer{layer}.0.downsample.1.{key}" for key in norm}
        assert names == expected
        assert len(names) == 122

    def test_as_many_parameters_as_published(self) -> None:
        assert sum(p.numel() for p in ResNet18().parameters()) == 11_689_512

    @pytest.mark.parametrize("size", [(32, 32), (47, 70)])
    def test_values_are_those_of_the_oracle(self, size: tuple[int, int], generator: torch.Generator) -> None:
        network = ResNet18(7).double().eval()
        for name, value in network.state_dict().items():
            if "bn" in name or "downsample.1" in name:
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
        g = images(2, 3, *size, dtype=torch.float64)
        torch.testing.assert_close(network(g), resnet18(network.state_dict(), g))
        torch.testing.assert_close(network.fc(network.features(g)), network(g))

    def test_activations_in_place_do_not_harm_gradients(self) -> None:
        network = ResNet18(3).eval()
        g = images(2, 3, 32, 32, dtype=torch.float32).requires_grad_()
        network(g).square().sum().backward()
        assert g.grad is not None
        assert g.grad.any()
        assert all(p.grad is not None and p.grad.any() for p in network.parameters())

    def test_bad_input(self) -> None:
        with pytest.raises(ShapeError, match=r"3 channels, got images of shape \(2, 1, 32, 32\).*expand\(-1, 3"):
            ResNet18()(torch.rand(2, 1, 32, 32))
        with pytest.raises(ShapeError, match=r"ResNet18 expects.*got \(3, 32, 32\)"):
            ResNet18()(torch.rand(3, 32, 32))
        with pytest.raises(InputError, match="classes=0"):
            ResNet18(0)


class TestPreprocessing:
    def test_values_are_normalised_per_channel(self) -> None:
        layer = Preprocessing(mean=(0.5, 0.25), std=(2.0, 4.0))
        x = images(2, 2, 5, 5, dtype=torch.float32)
        expected = torch.stack([(x[:, 0] - 0.5) / 2, (x[:, 1] - 0.25) / 4], dim=1)
        torch.testing.assert_close(layer(x), expected)
        assert layer(x.double()).dtype == torch.float64
        assert not layer.state_dict()

    def test_small_images_are_enlarged_and_large_ones_smoothed(self) -> None:
        layer = Preprocessing(16, mean=(0.0,), std=(1.0,))
        small, large = images(1, 1, 8, 8, dtype=torch.float32), images(1, 1, 64, 64, dtype=torch.float32)
        torch.testing.assert_close(layer(small), interpolate(small, (16, 16), mode="bilinear"))
        assert layer(large).shape == (1, 1, 16, 16)
        assert layer(large).std() < 0.5 * interpolate(large, (16, 16), mode="bilinear").std()

    def test_gradients_reach_the_angle_behind_it(self) -> None:
        angle = torch.tensor([0.3], requires_grad=True)
        g = images(1, 3, 12, 12, dtype=torch.float32)
        Preprocessing(24)(Rotations().transform(g, angle, torch.tensor([0]))).square().sum().backward()
        assert angle.grad is not None
        assert angle.grad.any()

    def test_bad_input(self) -> None:
        with pytest.raises(InputError, match="size=0"):
            Preprocessing(0)
        with pytest.raises(InputError, match="positive std"):
            Preprocessing(std=(1.0, 0.0, 1.0))
        with pytest.raises(ShapeError, match=r"3 channels, got images of shape \(2, 1, 8, 8\).*expand"):
            Preprocessing()(torch.rand(2, 1, 8, 8))
        with pytest.raises(InputError, match=r"torch.uint8. Hint: images.float\(\) / 255"):
            Preprocessing()(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))


class TestWeights:
    @pytest.mark.parametrize("suffix", [".pth", ".pt", ".safetensors", ".npz"])
    def test_what_is_written_is_read(self, tmp_path: Path, suffix: str) -> None:
        network = Tiny()
        load_weights(network, write(tmp_path / f"w{suffix}", tiny()))
        assert all(torch.equal(value, tiny()[key]) for key, value in network.state_dict().items())

    def test_half_precision_fills_single_precision(self, tmp_path: Path) -> None:
        network = Tiny()
        halved = {key: value.half() if value.is_floating_point() else value for key, value in tiny().items()}
        load_weights(network, write(tmp_path / "w.npz", halved))
        assert network.linear.weight.dtype == torch.float32
        assert torch.equal(network.linear.weight, tiny()["linear.weight"].half().float())

    @pytest.mark.parametrize("key", ["state_dict", "model"])
    def test_checkpoints_and_parallel_training_wrap_the_names(self, tmp_path: Path, key: str) -> None:
        content = {key: {f"module.{name}": value for name, value in tiny().items()}, "epoch": 3}
        network = Tiny()
        torch.save(content, tmp_path / "w.pth")
        load_weights(network, tmp_path / "w.pth")
        assert torch.equal(network.linear.weight, tiny()["linear.weight"])

    def test_files_of_old_versions_lack_the_counters(self, tmp_path: Path) -> None:
        old = {key: value for key, value in tiny().items() if not key.endswith("num_batches_tracked")}
        network = Tiny()
        load_weights(network, write(tmp_path / "w.pth", old))
        assert torch.equal(network.norm.weight, tiny()["norm.weight"])

    def test_another_architecture_is_told_by_its_keys(self, tmp_path: Path) -> None:
        weights = tiny() | {"extra.weight": torch.zeros(2)}
        del weights["norm.running_mean"]
        before = Tiny(9)
        kept = {key: value.clone() for key, value in before.state_dict().items()}
        with pytest.raises(DataError, match="another architecture than Tiny") as caught:
            load_weights(before, write(tmp_path / "w.pth", weights))
        said = str(caught.value)
        assert "1 missing (norm.running_mean)" in said
        assert "1 unexpected (extra.weight)" in said
        assert "1 of another shape (linear.weight is (4, 3), expected (4, 9))" in said
        assert all(torch.equal(value, kept[key]) for key, value in before.state_dict().items())

    def test_of_many_keys_some_are_named(self, tmp_path: Path) -> None:
        path = write(tmp_path / "w.npz", tiny())
        with pytest.raises(
            DataError, match=r"102 missing \(conv1.weight, .*, and 97 more\); 7 unexpected .*and 2 more"
        ):
            load_weights(ResNet18(), path)

    def test_a_classifier_of_other_classes_is_told_by_its_shape(self, tmp_path: Path) -> None:
        path = write(tmp_path / "w.pth", ResNet18(10).state_dict())
        expected = r"2 of another shape \(fc.weight is \(10, 512\), expected \(1000, 512\).*replace its last layer"
        with pytest.raises(DataError, match=expected):
            load_weights(ResNet18(), path)

    def test_code_in_a_file_is_not_executed(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> tuple[object, tuple[str]]:
                return Path.touch, (tmp_path / "sprung",)  # type: ignore[return-value]

        for content in (Trap(), {"linear.weight": Trap()}, Tiny()):
            torch.save(content, tmp_path / "w.pth", pickle_module=pickle)
            with pytest.raises(DataError, match="its code is not executed"):
                load_weights(Tiny(), tmp_path / "w.pth")
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize("suffix", [".pth", ".safetensors", ".npz"])
    def test_a_file_cut_anywhere_is_refused(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path / f"w{suffix}", tiny())
        whole = path.read_bytes()
        for length in range(0, len(whole), len(whole) // 20):
            path.write_bytes(whole[:length])
            with pytest.raises(DataError, match=rf"w{suffix} is damaged|w{suffix} holds weights of another"):
                load_weights(Tiny(), path)

    def test_files_of_another_kind_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match=r"\.pth, \.pt, \.safetensors, \.npz files, got w.onnx"):
            load_weights(Tiny(), tmp_path / "w.onnx")
        with pytest.raises(DataError, match=r"w.pth is missing"):
            load_weights(Tiny(), tmp_path / "w.pth")
        torch.save([1, 2], tmp_path / "list.pth")
        with pytest.raises(DataError, match=r"expected tensors by name, got list. Hint: save state_dict\(\)"):
            load_weights(Tiny(), tmp_path / "list.pth")
        with (tmp_path / "one.npz").open("wb") as file:
            np.save(file, np.zeros(3))
        with pytest.raises(DataError, match=r"another architecture"):
            load_weights(Tiny(), tmp_path / "one.npz")


@pytest.mark.data
class TestPretrained:
    def test_published_weights_tell_animals_from_vehicles(self, data_folder: Path) -> None:
        """ImageNet's first 398 classes are animals; CIFAR-10 has six animals and four vehicles."""
        network = ResNet18()
        load_weights(network, data_folder / WEIGHTS)
        with np.load(data_folder / "images" / "cifar10.npz") as archive:
            g = torch.from_numpy(archive["test_images"][:100]).permute(0, 3, 1, 2).float() / 255
            names = archive["class_names"][archive["test_labels"][:100]]
        truth = torch.from_numpy(np.isin(names, list(ANIMALS)))
        majority = max(truth.float().mean(), 1 - truth.float().mean())
        beyond_chance = majority + 3 * (majority * (1 - majority) / 100).sqrt()

        def accuracy(network: nn.Module) -> Tensor:
            with torch.no_grad():
                logits = nn.Sequential(Preprocessing(96), network).eval()(g)
            return ((logits.argmax(1) <= LAST_ANIMAL) == truth).float().mean()

        assert accuracy(network) > beyond_chance > accuracy(ResNet18())

    def test_a_pretrained_network_takes_a_family_as_it_is(self, data_folder: Path) -> None:
        network = ResNet18()
        load_weights(network, data_folder / WEIGHTS)
        model = Canonicalized(nn.Sequential(Preprocessing(64), network), Rotations("disc"), GridSearch(4)).eval()
        g = images(1, 3, 32, 32, dtype=torch.float32)
        turned = Rotations("disc").prepare(g).rot90(1, (2, 3))
        torch.testing.assert_close(model(turned), model(g), atol=1e-3, rtol=1e-3)
