"""The rows of the graph tables that stand on band coefficients: A-NLSF in its forms, and an MLP on Gram matrices."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.loss import LOSSES, one_vs_rest
from adacanon.core.maximizer import Maximizer
from adacanon.errors import InputError
from adacanon.experiments.graphs.graph_methods import Builder, sizes_of
from adacanon.experiments.graphs.kept_arrays import HERE, Arrays, Portions
from adacanon.experiments.graphs.tu_data import PORTION, TUData, spectra_of
from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.band_frames import BandFrames, band_frames
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import Partition, dyadic, uniform
from adacanon.graphs.coefficients import BandCoefficients, band_coefficients
from adacanon.graphs.encoded_anlsf import EncodedANLSF
from adacanon.graphs.framed_graphs import FramedGraphs, encoder_signals
from adacanon.graphs.node_anlsf import node_anlsf
from adacanon.graphs.node_coefficients import NodeCoefficients, node_coefficients
from adacanon.graphs.node_rotations import NodeRotations
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.runs.run import Settings, number
from adacanon.training.learner import Inputs, Learner, looked_up


def encoded_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF behind a learned node encoder."""
    partition = partition_of(data, options)
    frames = frames_in_bands(data, partition, options["operator"], options["frame"])
    signals = standardised_nodes(data, node_signals(data, options["returns"]), train)
    model = EncodedANLSF(
        data.dataset.channels,
        classes=data.dataset.classes,
        family=BandRotations(partition, rows=options["rows"], operator=options["operator"]),
        features=options["embedding"],
        hops=options["hops"],
        width=options["width"],
        hidden=options["hidden"],
        layers=options["layers"],
        dropout=options["dropout"],
        frame_width=options["frame"],
        walk_steps=options["returns"],
        search=search_of(options),
        training_search=search_of(options, low_precision=options["low_precision"]),
        temperature=temperature_of(options),
        resample_every=options["resample_every"],
        seed=seed,
    )
    module = AveragedOverDraws(model, options["ensemble"]) if "ensemble" in options else model
    return Learner(module, data.dataset.labels, encoded_inputs(data, frames, signals), loss_of(options))


class AveragedOverDraws(nn.Module):
    """In evaluation, the mean of a model's answers over several sets of candidates."""

    def __init__(self, model: EncodedANLSF, sets: int) -> None:
        super().__init__()
        self.model, self.sets = model, sets

    def forward(self, *inputs: Tensor) -> Tensor:
        if self.training:
            return self.model(*inputs)
        seed = self.model.canonicalized.seed
        first = int(seed)
        answers = []
        for i in range(self.sets):
            seed.fill_(first + i)
            answers.append(self.model(*inputs))
        seed.fill_(first)
        return torch.stack(answers).mean(0)


def encoded_inputs(data: TUData, frames: BandFrames, signals: Tensor) -> Inputs:
    """What a node encoder reads of a batch, and the frames in which its features are projected."""

    batches = replace(data.batches, x=torch.cat([signals, frames.basis.flatten(1)], dim=1))
    widths, shape = (signals.shape[1], frames.basis[0].numel()), frames.basis.shape[1:]

    def inputs(index: Tensor) -> tuple[Any, ...]:
        x, edge_index, graph = batches.batch(index)
        signals, basis = x.split(widths, dim=1)
        sizes, ranks = frames.sizes[index], frames.ranks[index]
        return (FramedGraphs(signals, edge_index, graph, basis.unflatten(1, shape), sizes, ranks),)

    return inputs


def paper_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF on the coefficients of the node features themselves, as the paper describes it."""
    partition = partition_of(data, options)
    coefficients = _coefficients(data, partition, options["operator"])
    family = BandRotations(partition, rows=options["rows"], operator=options["operator"])
    model = anlsf(
        family,
        data.dataset.channels,
        classes=data.dataset.classes,
        hidden=options["hidden"],
        layers=options["layers"],
        search=search_of(options),
        training_search=search_of(options, low_precision=options["low_precision"]),
        temperature=temperature_of(options),
        resample_every=options["resample_every"],
        seed=seed,
    )
    inputs = looked_up(scaled_coefficients(coefficients, train))
    return Learner(model, data.dataset.labels, inputs, loss_of(options))


def scaled_coefficients(coefficients: BandCoefficients, train: Tensor) -> BandCoefficients:
    """Every band divided by the root mean square of its coefficients over the training graphs."""
    scale = coefficients.factors[train].square().mean(dim=(0, 2, 3), keepdim=True).sqrt().clamp(min=1e-6)
    return replace(coefficients, factors=coefficients.factors / scale / coefficients.factors.shape[2] ** 0.5)


def node_level_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF with synthesis back to the nodes, and pooling."""
    partition = partition_of(data, options)
    model = node_anlsf(
        NodeRotations(partition, rows=options["rows"], operator=options["operator"]),
        data.dataset.channels,
        classes=data.dataset.classes,
        hidden=options["hidden"],
        features=options["node_features"],
        layers=options["layers"],
        node_layers=options["node_layers"],
        search=search_of(options),
        resample_every=1,  # the committed records of this row have fresh draws at every step
        seed=seed,
    )
    samples = _node_coefficients(data, partition, options["operator"])
    return Learner(model, data.dataset.labels, looked_up(samples), criterion=one_vs_rest)


def gram_mlp(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """An MLP on the band Gram matrices, the full set of invariants that a plain A-NLSF can use."""
    grams = _coefficients(data, partition_of(data, options), options["operator"]).grams()
    above = torch.triu_indices(grams.shape[-1], grams.shape[-1])
    inputs = informative(grams[:, :, above[0], above[1]].flatten(1), train).unsqueeze(-1)
    network = SpectralMLP(inputs.shape[1], 1, **sizes_of(data, options))
    return Learner(network, data.dataset.labels, looked_up(inputs))


def informative(inputs: Tensor, train: Tensor) -> Tensor:
    """Columns divided by their root mean square over the training samples, without those that are rounding there.

    Example:
        >>> informative(torch.tensor([[3.0, 1e-9, 0.0], [4.0, 0.0, 0.0], [5.0, 1.0, 1.0]]), torch.tensor([0])).tolist()
        [[1.0], [1.3333333730697632], [1.6666666269302368]]
    """
    scale = inputs[train].square().mean(0).sqrt()
    kept = scale > ROUNDING * scale.max()
    return inputs[:, kept] / scale[kept]


def standardised_nodes(data: TUData, signals: Tensor, train: Tensor) -> Tensor:
    """Node signals divided by their deviation over the nodes of the training graphs, unless that is rounding only."""
    return signals / node_deviations(data, signals, train)


def node_deviations(data: TUData, signals: Tensor, train: Tensor) -> Tensor:
    """The deviation of every signal over the nodes of the training graphs, one where it is rounding only."""
    deviation = signals[data.batches.nodes(train)].std(0)
    return torch.where(deviation > 1e-5, deviation, 1.0)


def partition_of(data: TUData, options: Settings) -> Partition:
    """The bands that the settings name, over the whole spectrum of the data set."""
    high = 2.0
    if options["operator"] != "normalized":
        high = max(float(one.eigenvalues.max()) for one in spectra_of(data, options["operator"]))
    if options["partition"] == "uniform":
        return uniform(options["bands"], high=high)
    return dyadic(options["bands"], decay=options["decay"], high=high)


def search_of(options: Settings, *, low_precision: bool = False) -> Maximizer:
    """Draws, and refinement if there is any; low precision is for training. With a temperature, draws alone."""
    if "temperature" in options:
        if options["steps"] or options["low_precision"]:
            raise InputError(
                f"A temperature goes with draws in full precision, got steps={options['steps']} and "
                f"low_precision={options['low_precision']}. Hint: steps=0, low_precision=False"
            )
        return RandomSearch(options["draws"])
    return SampleAndRefine(
        options["draws"], options["steps"], step_size=options["step_size"], low_precision=low_precision
    )


def loss_of(options: Settings) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss that the settings name, one-vs-rest if they name none."""
    return LOSSES[options.get("loss", "one-vs-rest")]


def temperature_of(options: Settings) -> float:
    """The temperature of the settings, zero if they have none."""
    return number(options.get("temperature", 0.0))


ROUNDING = 1e-5
"""Below this share of the largest column a column of Gram matrices in float32 is rounding."""

SPECTRAL: dict[str, Builder] = {"Gram MLP": gram_mlp, "A-NLSF (paper)": paper_anlsf, "A-NLSF": encoded_anlsf}
NODE_LEVEL: dict[str, Builder] = {"A-NLSF (node)": node_level_anlsf}

SHORT, LONG = 0.1, 10.0
"""Lengths of the first refinement step in diameters of the set of blocks. After a long one only its direction matters:
its projection is about the maximum of the linearised score over the whole set.
"""

_BANDS: Settings = {"partition": "uniform", "bands": 8, "decay": 0.5, "operator": "normalized"}
_SEARCH: Settings = {"rows": 2, "draws": 32, "steps": 1, "step_size": LONG, "resample_every": 32, "low_precision": True}
_ENCODER: Settings = {"frame": 4, "embedding": 16, "hops": 1, "width": 64, "returns": 16}

SPECTRAL_SETTINGS: dict[str, Settings] = {
    "Gram MLP": _BANDS,
    "A-NLSF (paper)": {**_BANDS, **_SEARCH},
    "A-NLSF (node)": {**_BANDS, **_SEARCH, "low_precision": False, "layers": 2, "node_features": 32, "node_layers": 1},
    "A-NLSF": {**_BANDS, **_SEARCH, **_ENCODER, "layers": 2, "dropout": 0.3},
}
"""What a method has beside width, learning rate and weight decay."""

SOFT_SETTINGS: Settings = {"steps": 0, "low_precision": False, "temperature": 1.0, "loss": "one-vs-rest"}
"""A soft maximum is over the draws as they are: no refinement, and no ranking in bfloat16. Loss and temperature were
chosen on graphs that are held out (``temperature-graphs``)."""


@lru_cache(maxsize=2)
def node_signals(data: TUData, returns: int) -> Tensor:
    """What the encoder sees of every node: fixed functions of its surroundings, in which no eigenvector takes part."""
    return kept_signals(data, returns)


def kept_signals(data: TUData, returns: int, portions: Portions = HERE) -> Tensor:
    """The same from the cache, where they are left if they are not there."""
    function = partial(_signals, returns)
    return data.arrays.kept(f"signals-{returns}", function, size=PORTION, portions=portions)["signals"]


def _signals(returns: int, graphs: list[Any], first: int) -> Arrays:
    return {"signals": torch.cat([encoder_signals(graph, returns) for graph in graphs]).numpy()}


@lru_cache(maxsize=2)
def frames_in_bands(data: TUData, partition: Partition, operator: str, width: int) -> BandFrames:
    """The frames of the bands of all graphs."""
    return kept_frames(data, partition, operator, width)


def kept_frames(data: TUData, partition: Partition, operator: str, width: int, portions: Portions = HERE) -> BandFrames:
    """The same from the cache, where they are left if they are not there."""
    how = (partition, operator, width)
    what = f"frames-{hashlib.sha256(repr(how).encode()).hexdigest()[:16]}"
    return BandFrames(**data.arrays.kept(what, partial(_frames, how), size=PORTION, portions=portions))


def _frames(how: tuple[Partition, str, int], graphs: list[Any], first: int) -> Arrays:
    partition, operator, width = how
    found = band_frames(graphs, partition, operator=operator, width=width)
    return {name: getattr(found, name).numpy() for name in ("basis", "sizes", "ranks")}


@lru_cache(maxsize=2)
def _coefficients(data: TUData, partition: Partition, operator: str) -> BandCoefficients:
    return band_coefficients(data.dataset.graphs, partition, operator=operator)


@lru_cache(maxsize=1)
def _node_coefficients(data: TUData, partition: Partition, operator: str) -> NodeCoefficients:
    return node_coefficients(data.dataset.graphs, partition, operator=operator)
