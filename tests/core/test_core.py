"""The canonicalized network: what the search leaves alone, what it costs, what it returns, and its loss."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    Canonicalized,
    GridSearch,
    Monotone,
    NegativeEntropy,
    Objective,
    RandomSearch,
    SampleAndRefine,
    cross_entropy,
    one_vs_rest,
    predict,
    probabilities,
)
from adacanon.core import Maximizer, Prior
from adacanon.core.pytree import distinct_rows
from adacanon.errors import AdacanonError, InputError, ShapeError
from adacanon.points import Rotations
from adacanon.spaces import SO3, rotation_group
from cases.networks import (
    DenseNetwork,
    PaddedRotations,
    Spy,
    ViewNetwork,
    Views,
    cloud_network,
    clouds,
    normalised_network,
    padded_vectors,
)
from oracles import canonicalization as oracle

SEARCHES = [RandomSearch(12), SampleAndRefine(6, 2), SampleAndRefine(3, 2, every=True), GridSearch(20)]
LABELS = torch.tensor([0, 2, 1])


def canonicalized(
    network: nn.Module | None = None, search: Maximizer | None = None, **options: object
) -> Canonicalized:
    return Canonicalized(network or cloud_network(), Rotations(), search or SampleAndRefine(6, 2), **options)


# The search leaves no trace


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_the_search_leaves_batch_statistics_alone(search: Maximizer) -> None:
    """One training call updates the statistics once, as one pass over the distinct pairs does."""
    model = canonicalized(normalised_network(), search)
    model(clouds())
    assert int(model.network[2].num_batches_tracked) == 1
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    model.canonicalize(clouds())
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("training", [True, False])
def test_the_search_gives_every_module_its_flag_back(search: Maximizer, training: bool) -> None:
    model = canonicalized(normalised_network(), search).train(training)
    model.network[2].eval()
    model.network[3].train()
    flags = [module.training for module in model.modules()]
    model.canonicalize(clouds())
    model(clouds())
    assert [module.training for module in model.modules()] == flags


def test_flags_come_back_after_an_error() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ZeroDivisionError

    model = canonicalized(nn.Sequential(nn.Dropout(), Fails()))
    with pytest.raises(ZeroDivisionError):
        model(clouds())
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_the_search_does_not_draw_from_the_global_random_state(search: Maximizer) -> None:
    model = canonicalized(search=search)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        state = torch.get_rng_state()
        model(clouds())
        model.canonicalize(clouds())
        assert torch.equal(state, torch.get_rng_state())


def test_dropout_is_off_in_the_search_and_on_in_the_gradient_pass() -> None:
    seen: list[tuple[bool, bool]] = []

    class Flag(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            seen.append((self.training, torch.is_grad_enabled()))
            return x

    canonicalized(nn.Sequential(Flag(), cloud_network()), RandomSearch(4))(clouds())
    assert set(seen[:-1]) == {(False, False)}
    assert seen[-1] == (True, True)


def test_the_search_does_not_fill_parameter_gradients() -> None:
    model = canonicalized(search=SampleAndRefine(4, 3))
    model.canonicalize(clouds())
    assert all(parameter.grad is None for parameter in model.parameters())


# Memory and cost


@pytest.mark.parametrize("chunk_size", [1, 5, 7, 1000])
@pytest.mark.parametrize("search", [RandomSearch(300), SampleAndRefine(20, 2), SampleAndRefine(5, 2, every=True)])
def test_a_chunk_bounds_the_rows_of_every_network_call(chunk_size: int, search: Maximizer) -> None:
    spy = Spy(cloud_network())
    with torch.no_grad():
        canonicalized(spy, search, chunk_size=chunk_size).eval()(clouds())
    rows = [rows for rows, _ in spy.calls]
    assert max(rows) <= chunk_size
    assert sum(rows) >= 3 * 15


def test_chunks_do_not_change_the_result() -> None:
    with torch.no_grad():
        results = [canonicalized(chunk_size=chunk_size).eval()(clouds(5)) for chunk_size in (None, 1, 4, 100)]
    for result in results[1:]:
        torch.testing.assert_close(result, results[0])


def test_the_search_costs_all_classes_together_one_evaluation_per_candidate() -> None:
    spy = Spy(cloud_network(classes=7))
    found = canonicalized(spy, RandomSearch(20)).canonicalize(clouds())
    assert found.evaluations == 20
    assert sum(rows for rows, _ in spy.calls) <= 3 * 20 + 3 * 7


def test_evaluations_count_candidates_and_the_steps_of_every_form() -> None:
    """K for the draws, then one value with gradient at the start and one per step, for each of 3 classes."""
    spy = Spy(cloud_network())
    found = canonicalized(spy, SampleAndRefine(10, 4)).canonicalize(clouds())
    assert found.evaluations == 10 + (4 + 1) * 3


@pytest.mark.parametrize("samples", [1, 2, 30])
def test_distinct_pairs_are_evaluated_once_with_gradients(samples: int) -> None:
    spy = Spy(cloud_network())
    model = canonicalized(spy, RandomSearch(samples)).eval()
    winners = model.canonicalize(clouds()).parameters
    distinct = sum(len({tuple(u.flatten().tolist()) for u in row}) for row in winners)
    spy.calls.clear()
    model(clouds())
    assert spy.rows(gradients=True) == [distinct]
    assert samples > 1 or distinct == 3


def test_distinct_rows_of_trees_are_those_of_a_slow_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    owner = torch.randint(3, (200,), generator=generator)
    tree = (
        torch.randint(2, (200, 2), generator=generator).double(),
        {"k": torch.randint(2, (200,), generator=generator)},
    )
    first, inverse = distinct_rows(owner, tree)
    rows = [(int(o), *a.tolist(), int(k)) for o, a, k in zip(owner, tree[0], tree[1]["k"], strict=True)]
    assert len(first) == len(set(rows))
    assert [rows[int(first[i])] for i in inverse] == rows
    assert all(rows.index(rows[int(p)]) == int(p) for p in first)


# Values and gradients


@pytest.mark.parametrize("samples", [1, 17])
def test_logits_and_gradients_are_those_of_the_slow_loop(samples: int) -> None:
    points = SO3().cover(samples)
    model, plain = canonicalized(search=GridSearch(points=points)), cloud_network()
    g = clouds().requires_grad_()
    slow_g = clouds().requires_grad_()
    logits, slow = model(g), oracle.best_logits(plain, Rotations(), slow_g, points)
    torch.testing.assert_close(logits, slow)
    one_vs_rest(logits, LABELS).backward()
    one_vs_rest(slow, LABELS).backward()
    for ours, theirs in zip(model.network.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(g.grad, slow_g.grad)


def test_the_objective_is_the_loss_of_the_model() -> None:
    model = canonicalized().eval()
    logits = model(clouds())
    torch.testing.assert_close(Objective(model)(clouds(), LABELS).loss, cross_entropy(logits, LABELS))
    paper = Objective(model, loss=one_vs_rest)(clouds(), LABELS).loss
    torch.testing.assert_close(paper, one_vs_rest(logits, LABELS))
    squared = Objective(model, loss=lambda logits, targets: logits.square().sum() + 0 * targets.sum())
    torch.testing.assert_close(squared(clouds(), LABELS).loss, model(clouds()).square().sum())


# Determinism


def test_evaluation_is_the_same_twice_and_in_any_batch() -> None:
    model, g = canonicalized().eval(), clouds(6)
    whole = model(g)
    assert torch.equal(model(g), whole)
    torch.testing.assert_close(model(g.flip(0)).flip(0), whole)
    torch.testing.assert_close(torch.cat([model(g[i : i + 1]) for i in range(6)]), whole)
    torch.testing.assert_close(model(g[[3, 3, 0]]), whole[[3, 3, 0]])


def test_evaluation_survives_a_state_dict_and_another_seed() -> None:
    model = canonicalized(seed=7).eval()
    other = canonicalized(cloud_network(seed=99), seed=3).eval()
    assert not torch.equal(other(clouds()), model(clouds()))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(clouds()), model(clouds()))


def test_evaluation_is_not_changed_by_training_calls() -> None:
    model = canonicalized()
    before = model.eval()(clouds())
    model.train()(clouds())
    assert torch.equal(model.eval()(clouds()), before)


SCRIPT = """
import sys; sys.path[:0] = sys.argv[1:]
from test_core import canonicalized
from cases.networks import clouds
print(canonicalized(seed=7).eval()(clouds()).flatten().tolist())
"""


def test_evaluation_is_the_same_in_another_process() -> None:
    command = [sys.executable, "-c", SCRIPT, *(str(folder) for folder in Path(__file__).parents[:2])]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    ours = canonicalized(seed=7).eval()(clouds()).flatten().tolist()
    assert eval(answer) == pytest.approx(ours, rel=1e-12)


def test_seeds_give_other_candidates() -> None:
    assert not torch.equal(canonicalized(seed=1).eval()(clouds()), canonicalized(seed=2).eval()(clouds()))


def test_a_generator_determines_the_training_draws() -> None:
    model = canonicalized()
    a, b, c = (model(clouds(), generator=torch.Generator().manual_seed(seed)) for seed in (4, 4, 5))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert int(model.draws) == 0


def test_the_default_stream_advances_and_is_saved_with_the_model() -> None:
    model = canonicalized()
    first, state = model(clouds()), {k: v.clone() for k, v in model.state_dict().items()}
    second = model(clouds())
    assert not torch.equal(first, second)
    resumed = canonicalized(seed=5)
    resumed.load_state_dict(state)
    assert torch.equal(resumed(clouds()), second)


# Priors


def test_every_class_has_its_own_form_unless_the_prior_is_shared() -> None:
    per_class = canonicalized().canonicalize(clouds())
    shared = canonicalized(prior=NegativeEntropy()).canonicalize(clouds())
    assert per_class.parameters.shape == (3, 3, 3, 3)
    assert shared.parameters.shape == (3, 1, 3, 3)
    assert shared.logits.shape == (3, 3)


@pytest.mark.parametrize("network", [cloud_network(), DenseNetwork()], ids=["vector", "dense"])
def test_the_shared_form_has_least_entropy(network: nn.Module) -> None:
    points = SO3().cover(15)
    model = Canonicalized(network, Rotations(), GridSearch(points=points), prior=NegativeEntropy()).eval()
    found, g = model.canonicalize(clouds()), clouds()
    for i in range(3):
        outputs = [network(g[i : i + 1] @ r.T).detach() for r in points]
        entropies = [float(torch.distributions.Categorical(logits=x).entropy().sum()) for x in outputs]
        k = min(range(15), key=entropies.__getitem__)
        torch.testing.assert_close(found.parameters[i, 0], points[k])
        torch.testing.assert_close(found.logits[i], outputs[k][0])
        assert float(found.scores[i, 0]) == pytest.approx(-entropies[k])
    torch.testing.assert_close(model(g).detach(), found.logits)


def flat_sigmoid(x: Tensor) -> Tensor:
    """Saturates to exactly one in float64 for scores above 40."""
    return torch.sigmoid(50 * x + 200)


@pytest.mark.parametrize("increasing", [torch.exp, torch.sigmoid, torch.tanh, flat_sigmoid])
def test_increasing_priors_choose_the_forms_of_the_score(increasing: object) -> None:
    score = canonicalized().eval()(clouds())
    torch.testing.assert_close(canonicalized(prior=Monotone(increasing)).eval()(clouds()), score)


def test_decreasing_priors_minimise() -> None:
    points = SO3().cover(20)
    g, network = clouds(), cloud_network()
    outputs = torch.stack([network(g @ r.T) for r in points])
    model = canonicalized(network, GridSearch(points=points), prior=Monotone(torch.neg)).eval()
    torch.testing.assert_close(model(g), outputs.min(0).values)


def test_one_monotone_function_per_class() -> None:
    points = SO3().cover(20)
    g, network = clouds(), cloud_network()
    outputs = torch.stack([network(g @ r.T) for r in points])
    prior = Monotone([torch.exp, torch.neg, torch.sigmoid])
    found = canonicalized(network, GridSearch(points=points), prior=prior).eval().canonicalize(g)
    expected = torch.stack(
        [outputs[..., 0].max(0).values, outputs[..., 1].min(0).values, outputs[..., 2].max(0).values], 1
    )
    torch.testing.assert_close(found.logits, expected)
    functions = [torch.exp, torch.neg, torch.sigmoid]
    scores = torch.stack([h(expected[:, d]) for d, h in enumerate(functions)], 1)
    torch.testing.assert_close(found.scores, scores)


# The record of a search


@pytest.mark.parametrize("prior", [None, Monotone(torch.sigmoid), NegativeEntropy()], ids=repr)
def test_the_record_holds_what_was_found(prior: Prior | None) -> None:
    model = canonicalized(prior=prior).eval()
    found = model.canonicalize(clouds())
    batch, forms = found.scores.shape
    assert found.parameters.shape == (batch, forms, 3, 3)
    assert found.mask is None
    outputs = model.network(found.forms().flatten(0, 1)).unflatten(0, (batch, forms))
    expected = outputs[:, 0] if model.prior.shared else outputs.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(found.logits, expected)
    torch.testing.assert_close(found.scores, model.prior(found.logits))
    torch.testing.assert_close(found.forms(), torch.einsum("bni,bdji->bdnj", clouds(), found.parameters))
    torch.testing.assert_close(model(clouds()), found.logits)
    assert not found.logits.requires_grad


@pytest.mark.parametrize("search", [RandomSearch(16), SampleAndRefine(8, 3), SampleAndRefine(3, 2, every=True)])
def test_inputs_of_unequal_sizes_are_padded_and_masked(search: Maximizer) -> None:
    g = padded_vectors()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    model = Canonicalized(network, PaddedRotations(), search).eval()
    found = model.canonicalize(g)
    assert found.parameters.shape == (4, 2, 5, 5)
    assert found.mask.shape == (4, 1, 5, 5)
    for i, n in enumerate(g[1].tolist()):
        assert found.mask[i].sum() == n * n
        for u in found.parameters[i]:
            torch.testing.assert_close(u[:n, :n] @ u[:n, :n].T, torch.eye(n, dtype=torch.float64))
            assert torch.equal(u[n:, n:], torch.eye(5 - n, dtype=torch.float64))
    alone = torch.cat([model((g[0][i : i + 1], g[1][i : i + 1])) for i in range(4)])
    torch.testing.assert_close(alone, model(g))


def test_networks_take_trees() -> None:
    model = Canonicalized(ViewNetwork(), Views(), SampleAndRefine(6, 2), chunk_size=4).eval()
    found = model.canonicalize(clouds())
    assert set(found.forms()) == {"cloud", "norms"}
    assert found.forms()["norms"].shape == (3, 2, 4)
    torch.testing.assert_close(model(clouds()), found.logits)


def test_the_printed_model_names_its_parts() -> None:
    text = repr(canonicalized(chunk_size=9))
    for part in ("Rotations()", "SampleAndRefine(candidates=6, steps=2", "ClassScore()", "chunk=9", "Linear"):
        assert part in text


# The loss


def test_one_vs_rest_is_the_slow_sum_of_cross_entropies() -> None:
    logits = torch.tensor([[0.5, -2.0, 3.0], [1.0, 0.0, -0.5], [-1.0, 4.0, 0.2]], dtype=torch.float64)
    one_hot = [[1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]]
    for targets in (LABELS, torch.tensor(one_hot), torch.tensor(one_hot).bool(), torch.tensor(one_hot).long()):
        assert float(one_vs_rest(logits, targets)) == pytest.approx(oracle.one_vs_rest(logits, one_hot))
    multi = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.3, math.nan, 1.0]]
    assert float(one_vs_rest(logits, torch.tensor(multi))) == pytest.approx(oracle.one_vs_rest(logits, multi))


@pytest.mark.parametrize(
    "targets", [torch.tensor([[1.0, torch.nan], [torch.nan, torch.nan]]), torch.tensor([[1, -1], [-1, -1]])]
)
@pytest.mark.filterwarnings("ignore:No label of the batch is 0")
def test_missing_labels_cost_nothing(targets: Tensor) -> None:
    logits = torch.tensor([[0.3, 5.0], [-2.0, 1.0]], dtype=torch.float64, requires_grad=True)
    loss = one_vs_rest(logits, targets)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(math.log(1 + math.exp(-0.3)) / 2)
    assert logits.grad.flatten().tolist()[1:] == [0, 0, 0]
    assert float(logits.grad[0, 0]) != 0


@pytest.mark.parametrize(
    "targets", [torch.tensor([1, 0, 1]), torch.tensor([1.0, 0.0, 1.0]), torch.tensor([[1], [0], [1]])]
)
def test_a_single_class_takes_a_vector_of_labels(targets: Tensor) -> None:
    logits = torch.tensor([[0.5], [1.0], [-1.0]], dtype=torch.float64)
    assert float(one_vs_rest(logits, targets)) == pytest.approx(oracle.one_vs_rest(logits, [[1.0], [0.0], [1.0]]))


@pytest.mark.parametrize(
    ("logits", "targets", "kind", "words"),
    [
        (torch.zeros(2, 3), torch.tensor([0, 3]), InputError, "0..2"),
        (torch.zeros(2, 3), torch.tensor([-1, 0]), InputError, "0..2"),
        (torch.zeros(2, 3), torch.tensor([0.0, 1.0]), InputError, "integers"),
        (torch.zeros(2, 3), torch.tensor([0, 1, 2]), ShapeError, "expects targets"),
        (torch.zeros(2, 3), torch.zeros(2, 4), ShapeError, "number of classes"),
        (torch.zeros(2, 3), torch.full((2, 3), 2.0), InputError, r"\[0, 1\]"),
        (torch.zeros(2, 3), torch.full((2, 3), -0.5), InputError, r"\[0, 1\]"),
        (torch.zeros(6), torch.zeros(6), ShapeError, "logits"),
        (torch.zeros(0, 3), torch.zeros(0, 3), ShapeError, "logits"),
    ],
)
def test_labels_that_do_not_fit_are_refused(
    logits: Tensor, targets: Tensor, kind: type[AdacanonError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        one_vs_rest(logits, targets)


def test_predictions_are_the_largest_score_and_probabilities_are_per_class() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0], [5.0, 4.0, 3.0]])
    assert predict(logits).tolist() == [1, 0]
    torch.testing.assert_close(probabilities(logits), 1 / (1 + (-logits).exp()))
    assert float(probabilities(logits)[1].sum()) > 1


def test_equal_rows_are_found_among_round_numbers() -> None:
    """The bits of 0, 1 and -1 differ in few places; a weak hash would take different rotations for equal ones."""
    turns = rotation_group("cube").repeat(2, 1, 1)
    first, inverse = distinct_rows(torch.zeros(48, dtype=torch.int64), turns)
    assert first.sort().values.tolist() == list(range(24))
    assert torch.equal(turns[first][inverse], turns)


class TestCrossEntropy:
    def test_is_torchs_for_class_indices(self) -> None:
        logits, targets = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
        torch.testing.assert_close(cross_entropy(logits, targets), torch.nn.functional.cross_entropy(logits, targets))

    @pytest.mark.parametrize(
        ("logits", "targets"),
        [
            (torch.randn(3, 2), torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])),  # several labels
            (torch.randn(3, 1), torch.tensor([0, 0, 0])),  # a single class: the loss would always be zero
        ],
        ids=["several labels", "a single class"],
    )
    def test_what_it_would_take_for_something_else_is_refused(self, logits: Tensor, targets: Tensor) -> None:
        with pytest.raises(ShapeError, match="one_vs_rest"):
            cross_entropy(logits, targets)

    @pytest.mark.parametrize("targets", [torch.tensor([0, 1, 5]), torch.tensor([0.0, 1.0, 0.0])])
    def test_targets_that_are_no_classes_are_refused(self, targets: Tensor) -> None:
        with pytest.raises(InputError, match="Class indices"):
            cross_entropy(torch.randn(3, 2), targets)
