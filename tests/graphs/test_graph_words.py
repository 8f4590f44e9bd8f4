"""Changes of basis in words, against the coefficients that the network sees."""

import math
import re

import pytest
import torch
from torch_geometric.data import Data

from adacanon.graphs import BandRotations, NodeRotations, dyadic

CYCLE = torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8])
GRAPH = Data(
    x=torch.randn(8, 2, generator=torch.Generator().manual_seed(0)), edge_index=torch.cat([CYCLE, CYCLE.flip(0)], 1)
)
OWNER = torch.zeros(1, dtype=torch.int64)


@pytest.mark.parametrize("seed", range(3))
def test_angles_and_energies_are_those_of_the_coefficients(seed: int) -> None:
    family = BandRotations(dyadic(3), rows=2)
    g = family.prepare([GRAPH])
    u = family.space(g).sample(1, generator=torch.Generator().manual_seed(seed))[0].float()
    words = family.describe(g, u, OWNER)[0]
    before, after = g.factors[0], family.transform(g, u, OWNER)[0].unflatten(0, (3, 2))
    counted = 0
    for k in range(3):
        told = re.search(rf"band {k + 1}: turned by (\d+)°(?:, (\d+) % of its energy kept)?", words)
        if told is None:
            continue
        counted += 1
        cosine = torch.nn.functional.cosine_similarity(before[k, :2].flatten(), after[k].flatten(), dim=0)
        assert int(told[1]) == pytest.approx(math.degrees(math.acos(float(cosine))), abs=0.6)
        share = float(after[k].square().sum() / before[k].square().sum())
        assert int(told[2] or 100) == pytest.approx(100 * share, abs=0.6)
    assert counted >= 2


def test_the_identity_changes_nothing_and_a_band_of_one_dimension_has_a_sign() -> None:
    family = BandRotations(dyadic(4), rows=3)
    g = family.prepare([GRAPH])
    identity = family.space(g).identity().to(g.factors)
    words = family.describe(g, identity, OWNER)[0]
    assert "turned" not in words
    assert "as it is" in words
    sizes = g.sizes[0].tolist()
    assert 1 in sizes
    turned = family.describe(g, -identity, OWNER)[0]
    assert f"band {sizes.index(1) + 1}: sign changed" in turned


def test_pictures_name_the_bands_at_graph_and_at_node_level() -> None:
    for family in (BandRotations(dyadic(3), rows=(1, 2, 3)), NodeRotations(dyadic(3), rows=(1, 2, 3))):
        g = family.prepare([GRAPH])
        u = family.space(g).identity().float()
        form = family.transform(g, u, OWNER)
        row = (
            form[0]
            if isinstance(form, torch.Tensor)
            else type(form)(form.coefficients[0], form.frames[0], form.mask[0])
        )
        picture = family.picture(row)
        assert picture.blocks == (("band 1", 1), ("band 2", 2), ("band 3", 3))
        assert picture.values.shape == (6, 2)
