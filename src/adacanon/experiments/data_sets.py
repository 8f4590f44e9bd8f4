"""The data sets that the tables are about, with their statistics, as the command lists them."""

from dataclasses import asdict

from adacanon.data.modelnet import modelnet_statistics
from adacanon.data.shapenet import shapenet_statistics
from adacanon.experiments.graphs import tu_data
from adacanon.reports.terminal import DataSets


def graphs() -> DataSets:
    """The TU data sets."""
    return DataSets(
        "Data sets of graphs",
        tu_data.data_sets(),
        "nodes and edges per graph on average",
        "A data set that is not present is fetched when it is first needed. "
        "Without a network, set ADACANON_DATA to a folder that holds TUDataset/NAME/raw.",
    )


def clouds() -> DataSets:
    """ModelNet and ShapeNet; only names and labels are read."""
    found = {
        "ModelNet40": modelnet_statistics(40),
        "ModelNet10": modelnet_statistics(10),
        "ShapeNet": shapenet_statistics(),
    }
    return DataSets(
        "Data sets of point clouds",
        {name: None if counts is None else asdict(counts) for name, counts in found.items()},
        "shapes in each part, points of every shape",
        "Point clouds are not fetched: adacanon data import turns the official folders into files, "
        "which are read from ADACANON_DATA.",
    )
