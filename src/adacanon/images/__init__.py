"""Images: families of maps of the plane and of truncations, the resampling behind them, ResNet-18 and a small U-Net."""

from adacanon.images.affine_families import AffineMaps, Dilations, Reflections, Rotations, Shears, Translations
from adacanon.images.averaging import area_average
from adacanon.images.plane_maps import Composed, PlaneMaps
from adacanon.images.preprocessing import Preprocessing
from adacanon.images.resampling import warp
from adacanon.images.resnet import ResNet18
from adacanon.images.truncations import Truncations
from adacanon.images.unet import UNet
from adacanon.images.weights import load_weights
from adacanon.images.windows import Windows

__all__ = [
    "AffineMaps",
    "Composed",
    "Dilations",
    "PlaneMaps",
    "Preprocessing",
    "Reflections",
    "ResNet18",
    "Rotations",
    "Shears",
    "Translations",
    "Truncations",
    "UNet",
    "Windows",
    "area_average",
    "load_weights",
    "warp",
]
