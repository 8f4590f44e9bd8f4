"""Symmetric factors: functions of the Gram matrix, continuous in the features, with the forms of the paper."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from benchmarks.graphs import feature_jumps
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from adacanon.data.tu import GraphDataset
from adacanon.errors import InputError, UnknownNameError
from adacanon.experiments.graphs.tu_data import TUData
from adacanon.graphs import BandRotations, EncodedANLSF, anlsf, band_coefficients, symmetric_coefficients, uniform
from adacanon.graphs.coefficients import padded_bands, spectra_and_signals
from adacanon.graphs.symmetric_factors import symmetric_coefficients_of, symmetric_factor
from adacanon.spaces.orthogonal import Orthogonal

BANDS = uniform(3)
CHANNELS = 4


def random_matrix(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def graph_of(network: nx.Graph, *, noise: float = 0.0, seed: int = 0) -> Data:
    """One-hot features of which two channels are zero on the whole graph, and noise on all of them."""
    data = from_networkx(network)
    nodes = network.number_of_nodes()
    x = torch.eye(CHANNELS, dtype=torch.float64)[torch.arange(nodes) % 2 + 1]
    return Data(x=x + noise * random_matrix(nodes, CHANNELS, seed=seed), edge_index=data.edge_index)


GRAPHS = (nx.path_graph(20), nx.gnp_random_graph(24, 0.2, seed=3), nx.cycle_graph(30))


class TestTheFactor:
    def test_it_is_the_root_of_the_gram_matrix(self) -> None:
        c = random_matrix(5, 7, CHANNELS)
        root = symmetric_factor(c)
        torch.testing.assert_close(root @ root, c.mT @ c)
        torch.testing.assert_close(root, root.mT)
        assert bool((torch.linalg.eigvalsh(root) > -1e-12).all())

    def test_it_does_not_see_the_basis(self) -> None:
        c = random_matrix(7, CHANNELS)
        q = torch.linalg.qr(random_matrix(7, 7, seed=1))[0]
        torch.testing.assert_close(symmetric_factor(q @ c), symmetric_factor(c))

    @pytest.mark.parametrize("rank", [0, 1, 2, 4])
    @pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-3, 1.0])
    def test_it_is_as_steep_as_a_root_of_two_at_most_whatever_the_rank(self, rank: int, size: float) -> None:
        c = random_matrix(9, rank) @ random_matrix(rank, CHANNELS, seed=1)
        noise = size * random_matrix(9, CHANNELS, seed=2)
        moved = (symmetric_factor(c + noise) - symmetric_factor(c)).norm()
        assert float(moved) <= 2**0.5 * float(noise.norm()) + 1e-13

    def test_bands_that_hold_nothing_are_zero(self) -> None:
        assert not bool(symmetric_factor(torch.zeros(0, 3)).any())


class TestJumps:
    """Noise of 1e-8 on one-hot features, of which some channels are zero."""

    @staticmethod
    def moved(factor: str) -> float:
        """The largest change of a score, as a share of the scores' deviation between graphs."""
        torch.manual_seed(0)
        with torch.random.fork_rng():
            family = BandRotations(BANDS, rows=2, factor=factor)
            model = anlsf(family, CHANNELS, classes=3, hidden=16).double().eval()
        torch.set_default_dtype(torch.float64)
        try:
            scores, noisy = (model([graph_of(n, noise=noise) for n in GRAPHS]).detach() for noise in (0.0, 1e-8))
        finally:
            torch.set_default_dtype(torch.float32)
        return float((noisy - scores).abs().max() / scores.std(0).mean())

    def test_triangular_factors_jump_and_symmetric_ones_do_not(self) -> None:
        assert self.moved("triangular") > 0.05
        assert self.moved("symmetric") < 1e-5


def test_both_errors_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [graph_of(nx.gnp_random_graph(8 + i % 4, 0.4, seed=i)) for i in range(20)]
    for graph in graphs:
        graph.num_nodes = len(graph.x)
    data = TUData(GraphDataset("made", graphs, torch.arange(20) % 2, 2))
    monkeypatch.setattr(feature_jumps, "tu_data", lambda column, features: data)
    rows = feature_jumps.rows_of("MUTAG", feature_jumps.parser().parse_args(["--epochs", "2"]))
    assert len(rows) == 2 * len(feature_jumps.SEARCHES)
    default = {row["factor"]: row for row in rows if str(row["search"]).endswith("(default)")}
    noise = {factor: row["noise of 1e-08, largest"] for factor, row in default.items()}
    assert noise["symmetric"] < 1e-4 < noise["triangular"]
    assert max(row["nodes and bases redrawn, largest"] for row in rows) < 1e-3


class TestForms:
    def test_in_large_bands_they_are_the_coefficients_in_all_bases(self) -> None:
        """The first rows of UᵀC are X|C| for a point X of the space, for every U."""
        (pair,) = spectra_and_signals([graph_of(GRAPHS[2], noise=0.3)], cache=False)
        c, sizes = padded_bands(*pair, BANDS)
        family = BandRotations(BANDS, rows=2, factor="symmetric")
        g = symmetric_coefficients_of([pair], BANDS, dtype=torch.float64)
        assert int(sizes.min()) >= CHANNELS
        assert torch.equal(g.sizes[0], sizes)
        space, points = family.space(g), []
        for k, size in enumerate(sizes.tolist()):
            u = Orthogonal(size).sample(1, generator=torch.Generator().manual_seed(k))[0].double()
            q = c[k, :size] @ torch.linalg.inv(g.factors[0, k])
            points.append((u.mT @ q)[:2])
            torch.testing.assert_close(points[-1] @ g.factors[0, k], (u.mT @ c[k, :size])[:2])
        point = torch.stack(points).unsqueeze(0)
        torch.testing.assert_close(space.project(point), point, atol=1e-9, rtol=0)

    def test_they_do_not_depend_on_eigenvectors_as_they_come(self) -> None:
        graph = graph_of(GRAPHS[2])  # a ring: almost all eigenvalues are double
        order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
        other = Data(x=graph.x[order], edge_index=order.argsort()[graph.edge_index])
        found = [symmetric_coefficients([one], BANDS, dtype=torch.float64).factors for one in (graph, other)]
        torch.testing.assert_close(*found, atol=1e-9, rtol=0)

    def test_their_gram_matrices_are_those_of_triangular_ones(self) -> None:
        graphs = [graph_of(network) for network in GRAPHS]
        triangular = band_coefficients(graphs, BANDS, dtype=torch.float64)
        torch.testing.assert_close(
            symmetric_coefficients(graphs, BANDS, dtype=torch.float64).grams(), triangular.grams()
        )

    def test_small_bands_have_room_for_all_channels(self) -> None:
        g = symmetric_coefficients([graph_of(nx.path_graph(2))], BANDS)
        assert g.sizes.tolist() == [[CHANNELS] * 3]
        model = anlsf(BandRotations(BANDS, rows=2, factor="symmetric"), CHANNELS, classes=2).eval()
        assert bool(model(g).isfinite().all())


def test_a_family_names_its_factor_and_refuses_others() -> None:
    assert "factor='symmetric'" in repr(BandRotations(BANDS, rows=2, factor="symmetric"))
    assert repr(BandRotations(BANDS, rows=2)) == f"BandRotations(partition={BANDS!r}, rows=2, operator='normalized')"
    with pytest.raises(UnknownNameError, match="triangular, symmetric"):
        BandRotations(BANDS, factor="square")
    with pytest.raises(InputError, match="has no factors"):
        EncodedANLSF(2, classes=2, family=BandRotations(BANDS, rows=2, factor="symmetric"))


@pytest.mark.parametrize("factor", [np.array(["symmetric", "triangular"]), torch.zeros(2), None, ["symmetric"]])
def test_a_factor_that_is_no_name_is_refused(factor: Any) -> None:
    with pytest.raises(UnknownNameError, match="Factors of band coefficients are triangular, symmetric; got "):
        BandRotations(BANDS, factor=factor)
