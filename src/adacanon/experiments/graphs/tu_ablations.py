"""The ablations of A-NLSF on TU data sets (paper: appendix, additional experiments)."""

from dataclasses import replace

from adacanon.experiments.graphs.tu import INPUTS_NOTE, PROTOCOL, TU, settings
from adacanon.experiments.graphs.tu_data import COLUMNS
from adacanon.runs.choices import Choices
from adacanon.runs.run import Settings
from adacanon.runs.table import Table

Variants = dict[str, Settings]
"""row -> what differs from the settings of the method in ``tu``; "method" names it."""

SEARCH: Variants = {
    "A-NLSF (sampling)": {"method": "A-NLSF", "draws": 32, "steps": 0},
    "A-NLSF (sampling x5)": {"method": "A-NLSF", "draws": 160, "steps": 0},
    "A-NLSF (sampling x10)": {"method": "A-NLSF", "draws": 320, "steps": 0},
    "A-NLSF (refined)": {"method": "A-NLSF"},
}
NODE: Variants = {"Node to graph": {"method": "A-NLSF (node)"}, "Graph": {"method": "A-NLSF (plain)"}}
BANDS: Variants = {
    "Uniform": {"method": "A-NLSF", "partition": "uniform"},
    "Dyadic": {"method": "A-NLSF", "partition": "dyadic"},
}
SHIFT: Variants = {
    "Laplacian": {"method": "A-NLSF", "operator": "laplacian"},
    "Normalized Laplacian": {"method": "A-NLSF", "operator": "normalized"},
}

LEVERS: Variants = {
    "as in tu": {"method": "A-NLSF"},
    "encoder without messages": {"method": "A-NLSF", "hops": 0},
    "encoder of 3 hops": {"method": "A-NLSF", "hops": 3},
    "no return probabilities": {"method": "A-NLSF", "returns": 0},
    "4 layers": {"method": "A-NLSF", "layers": 4},
    "12 bands": {"method": "A-NLSF", "bands": 12, "partition": "uniform"},
    "4 rows per band": {"method": "A-NLSF", "rows": 4},
    "frames of 8": {"method": "A-NLSF", "frame": 8},
    "no search": {"method": "A-NLSF", "draws": 1, "steps": 0, "redraw": 1},
    "strong search": {"method": "A-NLSF", "draws": 128, "steps": 5, "redraw": 1},
    "dropout 0.5": {"method": "A-NLSF", "dropout": 0.5},
    "weight decay 0.01": {"method": "A-NLSF", "weight_decay": 0.01},
    "8 sets of candidates": {"method": "A-NLSF", "ensemble": 8},
}

ABLATION_SPLITS = 3
"""Of the ten of ``tu``; ``--splits 10`` runs them all."""


def ablation(
    name: str,
    title: str,
    variants: Variants,
    notes: tuple[str, ...],
    *,
    columns: tuple[str, ...] = COLUMNS,
    splits: int = ABLATION_SPLITS,
) -> Table:
    """Variants of methods of ``tu``, whose records it takes over where nothing differs."""

    def settings_of(row: str, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
        return {**settings(variants[row]["method"], column, preset, choices=choices), **variants[row]}

    return replace(
        TU,
        name=name,
        title=title,
        rows=tuple(variants),
        columns=columns,
        splits=lambda row, column: splits,
        settings=settings_of,
        notes=(*notes, *PROTOCOL),
        space=None,
        shares=TU.name,
    )


def _with_attributes(row: str, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    return {**settings(row, column, preset, choices=choices), "features": "attributes"}


TU_ATTRIBUTES = replace(
    TU,
    name="tu-attributes",
    title="Graph classification with node attributes beside the labels",
    columns=("ENZYMES", "PROTEINS"),
    settings=_with_attributes,
    space=None,
    notes=(
        "The rows of `tu` with the same settings, but all of them see the node attributes that two of the data sets "
        "have. Attributes are scaled to mean zero and deviation one over all nodes of the data set, test graphs "
        "included, without looking at a class. The paper does not say which features it uses; its figures for the "
        "baselines fit labels alone.",
        INPUTS_NOTE,
        *PROTOCOL,
    ),
)
TU_SEARCH = ablation(
    "tu-search",
    "Sampling against sample-and-refine (paper: appendix)",
    SEARCH,
    (
        "All rows share the settings of A-NLSF in `tu` but for the search: 32, 160 and 320 draws, and 32 draws with "
        "refinement. Time and memory of the searches, side by side in one run: `python -m "
        "benchmarks.graphs.tu_search`.",
    ),
)
TU_NODE = ablation(
    "tu-node",
    "Graph-level against node-to-graph construction (paper: appendix)",
    NODE,
    (
        "Both rows are A-NLSF on the node features themselves, without a learned encoder: 'Graph' is the row "
        "'A-NLSF (plain)' of `tu`, 'Node to graph' synthesizes node features and pools them.",
    ),
)
TU_BANDS = ablation(
    "tu-bands", "Uniform against dyadic bands (paper: appendix)", BANDS, ("The rows differ in the partition alone.",)
)
TU_SHIFT = ablation(
    "tu-shift",
    "Laplacian against normalized Laplacian (paper: appendix)",
    SHIFT,
    (
        "The rows differ in the shift operator alone. The bands of the Laplacian cover [0, largest eigenvalue of the "
        "data set].",
    ),
)
TU_LEVERS = replace(
    ablation(
        "tu-levers",
        "What A-NLSF gains and loses by its parts, on the validation part",
        LEVERS,
        (
            "Every row differs from the settings of A-NLSF in `tu` in one respect. The figure is the accuracy on the "
            "validation part at the kept epoch, the largest of all epochs: comparable between rows, not with a test. "
            "'8 sets of candidates' averages the answers of one network over eight sets of draws in evaluation.",
        ),
        columns=("PTC", "ENZYMES", "PROTEINS"),
    ),
    metric="validation_accuracy",
    also=(("accuracy", "test"), ("best_test_accuracy", "best test epoch")),
)
