"""The data sets that the tables are about, with their statistics, as the command lists them."""

from dataclasses import asdict

from adacanon.data.modelnet import modelnet_statistics
from adacanon.data.ogb import OGB, ogb_statistics
from adacanon.data.peptides import peptides_statistics
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


def molecules() -> DataSets:
    """OGB and Peptides-func; only counts are read."""
    found = {name: ogb_statistics(name) for name in OGB} | {"peptides-func": peptides_statistics()}
    return DataSets(
        "Data sets of molecules and proteins as graphs",
        {name: None if counts is None else asdict(counts) for name, counts in found.items()},
        "graphs in each part; nodes and edges per graph on average; outputs are tasks or classes",
        "They are not fetched: put the official folders of OGB into ADACANON_DATA/OGB, such as OGB/ogbg_molhiv; "
        "adacanon data import makes the file of Peptides-func.",
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
