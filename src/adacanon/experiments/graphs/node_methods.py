"""Methods with an answer per node, bound to a task for the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.node_networks import NodeCheb, NodeGAT, NodeGCN, NodeMLP, ResidualNodeGCN
from adacanon.core.canonicalized import Canonicalized
from adacanon.data.node_tasks import NodeTask
from adacanon.graphs.bands import Partition, uniform
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import redrawn_in_bands
from adacanon.graphs.node_bases import NodeInputs
from adacanon.graphs.node_coefficients import node_coefficients_of
from adacanon.graphs.node_labels import node_labeller, node_scores
from adacanon.graphs.node_rotations import NodeRotations
from adacanon.graphs.partial_spectra import lowest_bands
from adacanon.maximizers.random_search import RandomSearch
from adacanon.runs.run import Settings, number

BASELINES: dict[str, Callable[..., nn.Module]] = {
    "mlp": NodeMLP,
    "gcn": NodeGCN,
    "gat": NodeGAT,
    "chebnet": NodeCheb,
    "residual gcn": ResidualNodeGCN,
}


class OnNodes(nn.Module):
    """A network on all nodes of a task, called with the indices of some of them.

    In evaluation the scores of all nodes are kept until a parameter changes: validation and test part need them both.
    """

    def __init__(self, network: nn.Module, everywhere: Callable[[], Tensor]) -> None:
        super().__init__()
        self.network, self.everywhere = network, everywhere
        self._kept: tuple[tuple[int, ...], Tensor] | None = None

    def forward(self, index: Tensor) -> Tensor:
        if self.training or torch.is_grad_enabled():
            return self.everywhere()[index]
        version = tuple(tensor._version for tensor in self.network.state_dict(keep_vars=True).values() if tensor.dim())
        if self._kept is None or self._kept[0] != version:
            self._kept = version, self.everywhere()
        return self._kept[1][index]


@dataclass(frozen=True)
class SpectralTask:
    """The graphs of a task and their bands."""

    task: NodeTask
    options: Settings

    @cached_property
    def graphs(self) -> list[Any]:
        """torch-geometric graphs, one by one."""
        from torch_geometric.data import Data

        task, found = self.task, []
        owner = task.graph[task.edge_index[0]]
        for i in range(task.graphs):
            nodes = (task.graph == i).nonzero().flatten()
            edges = task.edge_index[:, owner == i] - nodes[0]
            found.append(Data(x=task.x[nodes], edge_index=edges, num_nodes=len(nodes)))
        return found

    @cached_property
    def partition(self) -> Partition:
        """The lowest eigenpairs of a single graph, and the whole spectrum of several small ones."""
        bands, eigenpairs = self.options["bands"], self.options["eigenpairs"]
        return uniform(bands) if eigenpairs is None else lowest_bands(self.graphs[0], eigenpairs, bands=bands)

    def model(self, classes: int) -> Canonicalized:
        """A-NLSF with an answer per node."""
        options, family = self.options, NodeRotations(self.partition, rows=self.options["rows"])
        return node_labeller(
            family,
            self.task.x.shape[1],
            classes=classes,
            candidates=options["candidates"],
            temperature=number(options["temperature"]),
            hidden=options["hidden"],
            features=options["hidden"],
            node_layers=options["node_layers"],
            dropout=options["dropout"],
        )

    def in_other_bases(self, *, seed: int) -> NodeInputs:
        """What the model reads if the eigensolver had returned other bases of every band."""
        generator = torch.Generator().manual_seed(seed)
        pairs = spectra_and_signals(self.graphs, partition=self.partition)
        turned = [(redrawn_in_bands(v, self.partition, generator=generator), x) for v, x in pairs]
        nodes = max(len(x) for _, x in pairs)
        features = torch.stack([nn.functional.pad(x, (0, 0, 0, nodes - len(x))) for _, x in pairs])
        return NodeInputs(node_coefficients_of(turned, self.partition), features.float())


def baseline(task: NodeTask, kind: str, options: Settings) -> OnNodes:
    """A network that reads features and edges."""
    sizes = {name: options[name] for name in ("hidden", "layers", "heads", "order", "dropout") if name in options}
    network = BASELINES[kind](task.x.shape[1], classes=task.classes, **sizes)
    return OnNodes(network, lambda: network(task.x, task.edge_index))


def spectral(task: NodeTask, options: Settings) -> OnNodes:
    """A-NLSF on inputs that are prepared once."""
    model = SpectralTask(task, options).model(task.classes)
    inputs = model.prepare(SpectralTask(task, options).graphs)
    return OnNodes(model, lambda: node_scores(model, inputs))


@torch.no_grad()
def changed_answers(module: OnNodes, task: NodeTask, options: Settings, test: Tensor) -> dict[str, float]:
    """How many test nodes, in percent, get another class in other eigenbases, and from candidates drawn at random."""
    model, spectral_task = module.network.eval(), SpectralTask(task, options)
    assert isinstance(model, Canonicalized)
    before = module.eval()(test).argmax(1)
    turned = node_scores(model, spectral_task.in_other_bases(seed=1)).argmax(1)[test]
    own, model.search = model.search, RandomSearch(options["candidates"])
    drawn = node_scores(model, spectral_task.graphs).argmax(1)[test]
    model.search = own
    return {"changed_by_basis": _percent(turned != before), "changed_by_draws": _percent(drawn != before)}


def _percent(hits: Tensor) -> float:
    return 100 * float(hits.double().mean())
