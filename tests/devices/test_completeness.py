"""The table of cases names everything that is public, so that what is added later is not forgotten there."""

import importlib
import re
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
FILES = [*(CASES / "on_any_device").glob("*.py"), CASES / "conformance.py", CASES / "image_cases.py"]

ELSEWHERE = {
    "adacanon": {
        "AdacanonError",
        "ClassScore",
        "Prior",
        "SearchResult",
        "cross_entropy",
        "export",
        "distil",
        "synchronize",
    },
    "adacanon.points": {"CloudFamily"},
    "adacanon.images": set(),
    "adacanon.graphs": {
        *("BandCoefficients", "FramedGraphs", "NodeCoefficients", "NodeForms", "NodeInputs", "Partition", "Spectrum"),
        *("NodeBases", "NodeClassifier", "NodeFilter", "NodeLabeller", "SpectralMLP"),
        *("coefficients_of", "node_coefficients_of", "spectra", "uniform"),
    },
    "adacanon.maximizers": {"Stage", "view_ranker"},
    "adacanon.spaces": {"special_orthogonal", "super_fibonacci"},
    "adacanon.baselines.clouds": {
        *("EGNNLayer", "FrameNetwork", "VNBatchNorm", "VNEdgeConvolution", "VNInvariant", "VNLayer", "VNLeakyReLU"),
        *("VNLinear", "VNMaxPool", "cn_dgcnn", "cn_pointnet"),
    },
    "adacanon.baselines.graphs": {"CanonicalEigenvectors", "ResidualGraphNetwork"},
}
"""Public names without a case of their own: defaults, parts of models and results that have one, abstract classes,
errors, what runs on the CPU before there is a device, ``export``, whose tracing the virtual device does not know,
``distil``, a training of its own, and ``synchronize``, which needs several processes.
"""


@pytest.mark.parametrize("package", ELSEWHERE)
def test_every_public_name_has_a_case_or_a_reason(package: str) -> None:
    words = {word for file in FILES for word in re.findall(r"\w+", file.read_text())}
    missing = set(importlib.import_module(package).__all__) - words
    assert missing <= ELSEWHERE[package], f"no case for {sorted(missing - ELSEWHERE[package])}"
