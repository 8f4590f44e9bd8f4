"""What every row of the fair tables reads: the same node inputs, the same folds."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import torch
from torch import Tensor

from adacanon.data.fair_splits import load_fair_splits
from adacanon.data.graph_batches import GraphBatches
from adacanon.errors import UnknownNameError
from adacanon.experiments.graphs.kept_arrays import HERE, Arrays, Portions
from adacanon.experiments.graphs.tu_data import PORTION, TUData, tu_data
from adacanon.graphs.band_frames import return_probabilities
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.training.loop import DataSplit, stratified_folds
from adacanon.training.smoke import shortened

INPUTS = ("labels", "structural", "attributes")
WALK_STEPS = 16
FOLDS = 10
PUBLISHED_FOLDS = {"ENZYMES": "ENZYMES", "PROTEINS": "PROTEINS_full", "NCI1": "NCI1"}
"""Columns with the folds of Errica et al., and the names of their files."""

FOLD_SEED = 20260201
FARTHEST = 5.0
"""In deviations. The few isolated nodes of PROTEINS are 93 deviations away in one of the return probabilities."""


@dataclass(frozen=True, eq=False)
class FairFold:
    """One outer fold of a data set under one setting of the inputs.

    Attributes:
        data: graphs with their one-hot labels, from which spectra and frames are computed in every setting.
        x: inputs of all nodes, (nodes, channels), with the scale of the training part.
        split: training, validation and test graphs.
    """

    data: TUData
    x: Tensor
    split: DataSplit

    @property
    def channels(self) -> int:
        """Inputs of a node."""
        return int(self.x.shape[1])

    @cached_property
    def batches(self) -> GraphBatches:
        """The graphs with these inputs, as flat tensors."""
        return replace(self.data.batches, x=self.x)


def fair_fold(column: str, inputs: str, fold: int) -> FairFold:
    """A fold with its inputs; what is not a label has mean zero and deviation one over the nodes of training graphs."""
    data, split = tu_data(column, "labels"), fair_split(column, fold)
    signals = node_inputs(column, inputs)
    labels = data.dataset.channels
    scaled = standardised(signals[:, labels:], data.batches.nodes(split.train))
    return FairFold(data, torch.cat([signals[:, :labels], scaled], dim=1), split)


@lru_cache(maxsize=2)
def node_inputs(column: str, inputs: str) -> Tensor:
    """Of all nodes, (nodes, channels): one-hot labels; "structural", followed by the degree and the probabilities that
    a random walk is back after 1, ..., 16 steps; "attributes", all this and the node attributes.
    """
    if inputs not in INPUTS:
        raise UnknownNameError(f"Inputs are {', '.join(INPUTS)}; got {inputs!r}")
    data = tu_data(column, "labels")
    parts = [data.batches.x]
    if inputs != "labels":
        parts.append(structural_inputs(data))
    if inputs == "attributes":
        parts.append(tu_data(column, "attributes").batches.x[:, data.dataset.channels :])
    return torch.cat(parts, dim=1)


def structural_inputs(data: TUData, portions: Portions = HERE) -> Tensor:
    """Degree and return probabilities of all nodes, (nodes, 1 + WALK_STEPS), from the cache, where they are left."""
    return data.arrays.kept(f"structure-{WALK_STEPS}", _structure, size=PORTION, portions=portions)["inputs"]


def _structure(graphs: list[Any], first: int) -> Arrays:
    degrees = [torch.bincount(graph.edge_index[1], minlength=graph.num_nodes) for graph in graphs]
    walks = [return_probabilities(shift_matrix(graph), WALK_STEPS) for graph in graphs]
    return {"inputs": torch.cat([torch.cat(degrees).unsqueeze(1), torch.cat(walks)], dim=1).float().numpy()}


def standardised(signals: Tensor, nodes: Tensor) -> Tensor:
    """Columns with mean zero and deviation one over some nodes, cut at FARTHEST; a column that is constant there has
    its deviation left as it is.

    Example:
        >>> standardised(torch.tensor([[1.0, 5.0], [3.0, 5.0], [9.0, 5.0]]), torch.tensor([0, 1])).tolist()
        [[-0.7071067690849304, 0.0], [0.7071067690849304, 0.0], [4.949747562408447, 0.0]]
    """
    seen = signals[nodes]
    deviation = seen.std(0)
    scaled = (signals - seen.mean(0)) / torch.where(deviation > 1e-5, deviation, 1.0)
    return scaled.clamp(-FARTHEST, FARTHEST)


def fair_split(column: str, fold: int) -> DataSplit:
    """The published fold, or one of a stratified ten-fold division whose rest holds one part in ten out."""
    return shortened(_folds(column)[fold])


@lru_cache(maxsize=5)
def _folds(column: str) -> list[DataSplit]:
    labels = tu_data(column, "labels").dataset.labels
    if column in PUBLISHED_FOLDS:
        found = load_fair_splits(PUBLISHED_FOLDS[column], graphs=len(labels))
        return [DataSplit(fold.train, fold.validation, fold.test) for fold in found]
    generator = torch.Generator().manual_seed(FOLD_SEED)
    return [_with_hold_out(labels, *fold, generator) for fold in stratified_folds(labels, FOLDS, generator=generator)]


def _with_hold_out(labels: Tensor, rest: Tensor, test: Tensor, generator: torch.Generator) -> DataSplit:
    train, validation = stratified_folds(labels[rest], FOLDS, generator=generator)[0]
    return DataSplit(rest[train], rest[validation], test)
