"""Scenes: what is drawn follows from the seed, turns with the angle, and is not told by its grey."""

import math

import pytest
import torch

from adacanon.data.convex_shapes import hexagons, rectangles, triangles
from adacanon.data.scenes import SCENE_CLASSES, Scenes, pixel_centres, random_scenes
from adacanon.errors import InputError, ShapeError
from adacanon.images import Rotations


@pytest.fixture
def scenes() -> Scenes:
    return random_scenes(40, generator=torch.Generator().manual_seed(0))


def test_scenes_follow_from_the_seed(scenes: Scenes) -> None:
    same, other = (random_scenes(40, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    for drawn, again in zip(scenes.draw(), same.draw(), strict=True):
        assert torch.equal(drawn, again)
    assert not torch.equal(scenes.draw()[0], other.draw()[0])


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_quarter_turns_of_a_scene_are_quarter_turns_of_its_picture(scenes: Scenes, quarters: int) -> None:
    images, labels = scenes.draw()
    turned, turned_labels = scenes.draw(torch.full((40,), quarters * math.pi / 2))
    torch.testing.assert_close(turned, images.rot90(quarters, (2, 3)), rtol=0, atol=1e-4)
    assert (turned_labels != labels.rot90(quarters, (1, 2))).double().mean() < 1e-4


def test_any_turn_of_a_scene_is_close_to_the_interpolated_turn_of_its_picture(scenes: Scenes) -> None:
    """Drawn finely, so that interpolation errs little."""
    angles = torch.linspace(0.1, 6.0, 40)
    interpolated = Rotations("disc").transform(scenes.draw(side=160)[0], angles, torch.arange(40))
    errors = (scenes.draw(angles, side=160)[0] - interpolated).abs().flatten(1).mean(1)
    wrong_way = (scenes.draw(-angles, side=160)[0] - interpolated).abs().flatten(1).mean(1)
    assert errors.max() < 0.01
    assert wrong_way[1:-1].min() > 0.02


def test_a_finer_picture_shows_the_same_scene(scenes: Scenes) -> None:
    coarse, fine = scenes.draw()[0], torch.nn.functional.avg_pool2d(scenes.draw(side=120)[0], 3)
    inside = (pixel_centres(40).norm(dim=-1) < 0.95).reshape(40, 40)
    assert (coarse - fine)[:, 0, inside].abs().mean() < 0.01


def test_some_scenes_are_drawn_as_among_all(scenes: Scenes) -> None:
    index = torch.tensor([7, 3])
    some, all_of_them = scenes.draw(torch.tensor([1.0, 2.0]), index=index), scenes.draw(torch.full((40,), 2.0))
    assert torch.allclose(some[0][1], all_of_them[0][3])
    assert torch.equal(some[1][1], all_of_them[1][3])


def test_every_scene_has_all_classes_and_is_black_outside_of_the_disc(scenes: Scenes) -> None:
    images, labels = scenes.draw(torch.linspace(0, 6, 40))
    assert all(mask.unique().tolist() == list(range(len(SCENE_CLASSES))) for mask in labels)
    outside = (pixel_centres(40).norm(dim=-1) > 1).reshape(40, 40)
    assert float(images[:, 0, outside].abs().max()) == 0
    assert int(labels[:, outside].max()) == 0
    assert 0 <= float(images.min()) <= float(images.max()) <= 1


def test_nothing_but_its_place_tells_the_lid_of_a_chest_from_its_body() -> None:
    """Both have the same size, and either is the darker one as often."""
    scenes = random_scenes(2000, generator=torch.Generator().manual_seed(3))
    for body, lid in zip(scenes.layers[2:6:2], scenes.layers[3:6:2], strict=True):
        assert [SCENE_CLASSES[layer.label] for layer in (body, lid)] == ["body", "lid"]
        assert abs(float((body.grey > lid.grey).double().mean()) - 0.5) < 0.04
        sizes = (layer.shapes.offsets.unflatten(1, (2, 2)).sum(2) for layer in (body, lid))
        torch.testing.assert_close(*sizes)


def test_distances_of_shapes_are_those_to_their_edges() -> None:
    one, index = torch.ones(1), torch.tensor([0])
    places = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]])
    assert rectangles(0 * one, 0 * one, one, 2 * one).distance(places, index)[0].tolist() == [-0.5, 0.5, 2.0]
    assert hexagons(2 * one).distance(places, index)[0, :2].tolist() == [-1.0, 0.0]
    heights = triangles(0 * one, 2 * one, one).distance(torch.tensor([[[0.0, 0.0], [0.0, 1.0], [0.0, -1.0]]]), index)
    torch.testing.assert_close(heights, torch.tensor([[0.0, 0.0, 1.0]]))


def test_what_cannot_be_drawn_is_refused(scenes: Scenes) -> None:
    with pytest.raises(ShapeError, match="one angle for each of 40 scenes"):
        scenes.draw(torch.zeros(3))
    with pytest.raises(InputError, match="positive number of scenes"):
        random_scenes(0, generator=torch.Generator())
