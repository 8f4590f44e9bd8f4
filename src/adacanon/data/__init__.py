"""Data sets, one file per source."""

from adacanon.data.arrays import normalised
from adacanon.data.furniture import Furniture, random_furniture
from adacanon.data.graph_batches import GraphBatches
from adacanon.data.grid_orientation import GridOrientation, grid_orientation, grid_orientation_strict, torus_edges
from adacanon.data.images import ImageDataset, Images, load_images
from adacanon.data.importing import Imported, import_folder
from adacanon.data.labelled import load_labelled
from adacanon.data.labelled_graphs import LabelledGraphs
from adacanon.data.modelnet import Clouds, ModelNet, load_modelnet
from adacanon.data.official_images import import_images
from adacanon.data.official_qm9 import import_qm9
from adacanon.data.ogb import load_ogb
from adacanon.data.peptides import load_peptides
from adacanon.data.qm9 import QM9, Molecules, load_qm9
from adacanon.data.samples import Labelled
from adacanon.data.scenes import Scenes, pixel_centres, random_scenes
from adacanon.data.shapenet import ShapeNetParts, Shapes, load_shapenet
from adacanon.data.tu import GraphDataset, load_tu, read_tu
from adacanon.data.turned_pictures import TurnedPictures, turned_pictures

__all__ = [
    "QM9",
    "Clouds",
    "Furniture",
    "GraphBatches",
    "GraphDataset",
    "GridOrientation",
    "ImageDataset",
    "Images",
    "Imported",
    "Labelled",
    "LabelledGraphs",
    "ModelNet",
    "Molecules",
    "Scenes",
    "ShapeNetParts",
    "Shapes",
    "TurnedPictures",
    "grid_orientation",
    "grid_orientation_strict",
    "import_folder",
    "import_images",
    "import_qm9",
    "load_images",
    "load_labelled",
    "load_modelnet",
    "load_ogb",
    "load_peptides",
    "load_qm9",
    "load_shapenet",
    "load_tu",
    "normalised",
    "pixel_centres",
    "random_furniture",
    "random_scenes",
    "read_tu",
    "torus_edges",
    "turned_pictures",
]
