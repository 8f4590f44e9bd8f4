"""How much answers change when inputs are moved, against a loop, and where the result is known."""

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Confidence, GridSearch
from adacanon.core import Canonical
from adacanon.explain.changes import change
from adacanon.explain.given_graphs import renumbered
from adacanon.explain.moved import Moved, moved
from adacanon.explain.scores import asked
from adacanon.explain.subject import subject_of
from adacanon.images import Reflections
from adacanon.images import Rotations as ImageRotations
from adacanon.points import Rotations
from cases.explained import Largest, classifier, cycles, of_clouds, of_graphs, of_images, pictures, rods


def changes(found: Canonical, moves: int = 6) -> Moved:
    assert found.model is not None
    subject = subject_of(found, classes=(), labels=None, names=(), samples=2, index=None, top=1, inputs=None)
    with asked(subject, found.model) as scores:
        result = moved(subject, found.model, scores, moves)
    assert result is not None
    return result


def test_an_exact_symmetry_keeps_every_answer_and_the_network_alone_does_not() -> None:
    found = changes(of_clouds())
    assert [item.classes for item in found.model] == [0, 0]
    assert all(item.size < 1e-4 for item in found.model)
    assert found.alone is not None
    assert all(item.size > 0.05 for item in found.alone)


def test_shares_and_sizes_are_those_of_a_loop_over_moves() -> None:
    model = Canonicalized(classifier(), ImageRotations(), GridSearch(3)).eval()
    found = changes(model.canonicalize(pictures()), moves=5)
    angles = ImageRotations().points.sample(5, generator=torch.Generator().manual_seed(1)).float()
    for alone in (False, True):
        asked_of = model.network if alone else model
        results = found.alone if alone else found.model
        assert results is not None
        for i in range(2):
            image = pictures()[i : i + 1]
            before, others, sizes = asked_of(image)[0], 0, 0.0
            for angle in angles:
                after = asked_of(ImageRotations().transform(image, angle[None], torch.tensor([0])))[0]
                others += int(after.argmax() != before.argmax())
                sizes += float((after - before).abs().max() / (before.max() - before.min()))
            assert results[i].classes == others / 5
            assert results[i].size == pytest.approx(sizes / 5, rel=1e-4)


def test_a_vector_is_compared_after_it_was_carried_back() -> None:
    """The mean of the points turns with the cloud, so that nothing changes even for the network alone."""

    class Mean(nn.Module):
        def forward(self, points: Tensor) -> Tensor:
            return torch.cat([points.mean(1), points[:, :1, 0]], 1)

    model = Canonicalized(Mean(), Rotations(), prior=Confidence(), answers="vectors").eval()
    found = changes(model.canonicalize(rods() + 1))
    assert found.alone is not None
    assert all(item.classes is None and item.size < 1e-5 for item in (*found.model, *found.alone))


def test_pixels_without_a_source_are_not_compared() -> None:
    before, after = torch.zeros(2, 1, 3), torch.zeros(1, 2, 1, 3)
    before[1] = 1.0
    after[0, 1] = torch.tensor([1.0, -1.0, -1.0])
    known = torch.tensor([1.0, 1.0, 0.0]).reshape(1, 1, 1, 3)
    assert change(before, after, 0, known).classes == 0.5
    assert change(before, after, 0).classes == pytest.approx(2 / 3)


def test_a_finite_symmetry_is_moved_by_its_elements() -> None:
    model = Canonicalized(classifier(), Reflections("both")).eval()
    found = changes(model.canonicalize(pictures()))
    assert [item.classes for item in found.model] == [0, 0]
    assert all(item.size < 1e-5 for item in found.model)
    assert "such as “" in found.how


def test_graphs_are_numbered_anew_and_keep_their_answers() -> None:
    found = changes(of_graphs(), moves=9)
    assert found.moves == 4
    assert found.alone is None
    assert all(item.classes == 0 and item.size < 1e-3 for item in found.model)


def test_a_renumbered_graph_is_the_same_graph() -> None:
    graph = cycles(1, 7)[0]
    other = renumbered(graph, torch.Generator().manual_seed(0))
    assert not torch.equal(graph.x, other.x)

    def signal(g: object) -> set[tuple[tuple[float, ...], ...]]:
        ends = g.x[g.edge_index.T]  # type: ignore[attr-defined]
        return {tuple(map(tuple, pair)) for pair in ends.tolist()}

    assert signal(graph) == signal(other)


def test_nothing_is_left_in_the_cache_folder(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_graphs()
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    changes(found)
    assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]


def test_images_change_a_little_where_pixels_are_interpolated() -> None:
    found = changes(of_images())
    assert found.alone is not None
    assert all(0 < a.size < b.size for a, b in zip(found.model, found.alone, strict=True))


def test_largest_is_no_symmetric_network() -> None:
    """Otherwise the tests above could not fail."""
    turned = rods() @ Rotations().space(rods()).sample(1)[0].float().T
    assert not torch.allclose(Largest()(rods()), Largest()(turned), atol=1e-2)
