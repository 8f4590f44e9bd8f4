"""The grid of losses and temperatures on graphs: rows differ where they say so, and the test part is left alone."""

import json
import math
from pathlib import Path

import networkx as nx
import pytest
import torch
from benchmarks.graphs.chosen_temperature import REFERENCE, chosen, differences
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from adacanon.core import one_vs_rest
from adacanon.errors import InputError
from adacanon.experiments.graphs import tu
from adacanon.experiments.graphs.changed_graphs import Preparation, moved, signal_paths
from adacanon.experiments.graphs.soft_graphs import figures, inner_split
from adacanon.experiments.graphs.spectral_methods import loss_of, search_of, temperature_of
from adacanon.experiments.graphs.temperature import METHOD, ROWS, TEMPERATURE_GRAPHS
from adacanon.experiments.graphs.tu_data import split_of, tu_data
from adacanon.graphs import EncodedANLSF, dyadic, framed_graphs
from adacanon.maximizers import RandomSearch, SampleAndRefine
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl

PREPARATION = Preparation(dyadic(4), "normalized", 3, 2)
SIZES = {"frame_width": 3, "walk_steps": 2}


def graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for network in (nx.cycle_graph(8), nx.gnp_random_graph(11, 0.4, seed=3), nx.star_graph(5)):
        nodes = network.number_of_nodes()
        x = torch.eye(2)[torch.randint(2, (nodes,), generator=generator)]
        found.append(Data(x=x, edge_index=from_networkx(network).edge_index, num_nodes=nodes))
    return found


class TestRows:
    def test_they_are_the_whole_grid_and_differ_in_nothing_else(self) -> None:
        assert len({row.name for row in ROWS}) == len(ROWS) == 2 * 7 + 2
        for column in TEMPERATURE_GRAPHS.columns:
            of = [TEMPERATURE_GRAPHS.settings(row, column, "cpu") for row in ROWS]
            names = {"temperature", "loss", "steps", "low_precision"}
            common = [{name: value for name, value in options.items() if name not in names} for options in of]
            assert all(options == common[0] for options in common)
            assert common[0].items() >= tu.chosen(METHOD, column).items()

    def test_settings_name_search_loss_and_temperature(self) -> None:
        options = {row.name: TEMPERATURE_GRAPHS.settings(row, "MUTAG", "cpu") for row in ROWS}
        soft, mean, refined = (
            options[name] for name in ("temperature 0.3; cross-entropy", "mean; one-vs-rest", "refined; one-vs-rest")
        )
        assert [temperature_of(one) for one in (soft, mean, refined)] == [0.3, math.inf, 0.0]
        assert [loss_of(one) is one_vs_rest for one in (soft, mean, refined)] == [False, True, True]
        assert search_of(soft) == search_of(soft, low_precision=True) == RandomSearch(32)
        assert isinstance(search_of(refined), SampleAndRefine)
        plain = tu.TU.settings_of(METHOD, "MUTAG")
        differing = {name for name in plain.keys() | refined.keys() if plain.get(name) != refined.get(name)}
        assert differing == {"patience", "epochs", "cosine", "loss", "data", "paths", "path_steps"}

    @pytest.mark.parametrize("wrong", [{"steps": 1}, {"low_precision": True}])
    def test_a_temperature_with_refinement_or_rough_ranking_is_refused(self, wrong: dict[str, object]) -> None:
        options = {**TEMPERATURE_GRAPHS.settings_of("temperature 1; one-vs-rest", "MUTAG"), **wrong}
        with pytest.raises(InputError, match="draws in full precision"):
            search_of(options)

    def test_scores_and_temperatures_that_a_nlsf_does_not_have_are_refused(self) -> None:
        for wrong in ({"scores": "log-probabilities"}, {"learned": True}):
            options = {**TEMPERATURE_GRAPHS.settings_of("temperature 1; one-vs-rest", "MUTAG"), **wrong}
            with pytest.raises(InputError, match="fixed temperature of logits"):
                figures(Run.of("temperature", "row", "graphs", 0, options), TrainingControl())


class TestChangedGraphs:
    def test_moved_graphs_are_the_same_to_a_model(self) -> None:
        torch.manual_seed(0)
        model = EncodedANLSF(2, classes=3, **SIZES, temperature=0.5).eval()
        partition = model.family.partition
        preparation = Preparation(partition, "normalized", 3, 2)
        expected = model(graphs())
        again = moved(graphs(), preparation, seed=0)
        assert not torch.equal(again.signals, framed_graphs(graphs(), partition, **SIZES).signals)
        torch.testing.assert_close(model(again), expected, atol=1e-5, rtol=1e-5)

    def test_paths_start_and_end_at_mixed_signals_and_move_in_small_steps(self) -> None:
        paths = signal_paths(graphs(), PREPARATION, 33, seed=0)
        assert len(paths) == 3 * 33
        first = paths[torch.arange(33)]
        nodes = graphs()[0].num_nodes
        signals, basis = (leaf.unflatten(0, (33, nodes)) for leaf in (first.signals, first.basis))
        for values in (signals, basis):
            whole, step = float((values[-1] - values[0]).abs().max()), float(values.diff(dim=0).abs().max())
            assert 0 < step < 0.3 * whole

    def test_the_middle_of_a_path_is_the_mean_of_both_signals(self) -> None:
        some, generator = graphs()[:1], torch.Generator().manual_seed(5)
        other = some[0].x[torch.randperm(some[0].num_nodes, generator=generator)]
        found = signal_paths(some, PREPARATION, 3, seed=5)[torch.tensor([1])]
        torch.testing.assert_close(found.signals[:, 1:3], (some[0].x + other) / 2)


@pytest.mark.data
class TestRuns:
    def test_no_graph_of_the_test_part_is_held_out_or_trained_on(self) -> None:
        data = tu_data("MUTAG", "labels")
        test = set(split_of(data, 0).test.tolist())
        seen = set()
        for seed in range(3):
            parts = inner_split(data, seed=seed)
            train, held_out = set(parts.train.tolist()), set(parts.test.tolist())
            assert not train & held_out
            assert not (train | held_out) & test
            assert (len(train), len(held_out), len(test)) == (113, 56, 19)
            seen.add(tuple(sorted(held_out)))
        assert len(seen) == 3

    @pytest.mark.parametrize("row", ["temperature 1; cross-entropy", "mean; one-vs-rest", "refined; one-vs-rest"])
    def test_a_row_gives_its_figures_twice_the_same(self, row: str) -> None:
        options = {**TEMPERATURE_GRAPHS.settings_of(row, "MUTAG"), "epochs": 2, "paths": 2, "path_steps": 5}
        run = Run.of(TEMPERATURE_GRAPHS.name, row, "MUTAG", 0, options)
        first, again = (figures(run, TrainingControl()) for _ in range(2))
        assert {**first, "seconds": 0} == {**again, "seconds": 0}
        assert 0 <= first["calibration_error"] <= 100
        assert first["moved"] < 1e-4
        assert first["changed"] == 0
        assert first["jump"] > 0
        least, most = {"mean; one-vs-rest": (32, 32), "refined; one-vs-rest": (1, 1)}.get(row, (1.1, 32))
        assert 0.999 * least <= first["effective_forms"] <= 1.001 * most


class TestTheChoice:
    def written(self, folder: Path, gains: dict[str, list[float]]) -> Path:
        """Records of three seeds: the accuracy of a row is that of its seed and what it gains."""
        file = folder / f"{TEMPERATURE_GRAPHS.name}.jsonl"
        lines = []
        for run in TEMPERATURE_GRAPHS.runs(splits=3):
            accuracy = 50 + 10 * run.split + gains.get(run.row, [0, 0, 0])[run.split]
            record = {**vars(run), "key": run.key, "settings": run.options(), "metrics": {"accuracy": accuracy}}
            lines.append(json.dumps(record))
        file.write_text("\n".join(lines) + "\n")
        return file

    def test_the_largest_mean_is_taken_if_it_is_above_its_error(self, tmp_path: Path) -> None:
        gains = {"temperature 1; cross-entropy": [2.0, 3.0, 4.0], "mean; one-vs-rest": [1.0, 1.0, 1.0]}
        found = differences(self.written(tmp_path, gains))
        assert found["temperature 1; cross-entropy"] == {
            column: [2.0, 3.0, 4.0] for column in (*TEMPERATURE_GRAPHS.columns, "all")
        }
        assert chosen(found) == "temperature 1; cross-entropy"

    def test_within_one_error_the_rule_of_the_paper_stays(self, tmp_path: Path) -> None:
        gains = {"temperature 1; cross-entropy": [-3.0, 1.0, 4.0]}
        assert chosen(differences(self.written(tmp_path, gains))) == REFERENCE

    def test_a_maximum_that_is_close_to_the_best_is_taken_before_it(self, tmp_path: Path) -> None:
        gains = {"temperature 1; cross-entropy": [2.0, 3.0, 4.0], "maximum; cross-entropy": [3.0, 2.0, 3.0]}
        assert chosen(differences(self.written(tmp_path, gains))) == "maximum; cross-entropy"
