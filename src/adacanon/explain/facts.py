"""What a page says in sentences."""

from torch import Tensor

from adacanon.core.canonical import Canonical
from adacanon.explain.changes import Change
from adacanon.explain.moved import Moved
from adacanon.explain.subject import Subject, family_name


def lead_in_words(subject: Subject) -> str:
    """What happened to the inputs, for a reader who has not heard of canonicalization."""
    family = type(subject.found.family).__name__
    if subject.shared:
        return (
            f"The model does not read an input as it comes. It tries transformed versions of it (here: {family}), "
            "takes the version on which the network is most sure of its whole answer, and carries the answer back to "
            "the input. This page shows that version and the answer."
        )
    return (
        f"The model does not read an input as it comes. It tries transformed versions of it (here: {family}). Every "
        "class may choose the version on which the network is most sure of that class. The class with the largest "
        "score is the answer. This page shows these versions, which are called canonical forms."
    )


def inputs_in_words(subject: Subject) -> str:
    """Which inputs of the batch are shown."""
    batch, shown = len(subject.found.scores), subject.rows.tolist()
    if len(shown) == batch:
        return f"All {batch} inputs of the batch are shown." if batch > 1 else "The batch has one input."
    told = f"is input {shown[0]}" if len(shown) == 1 else f"are the inputs {', '.join(map(str, shown))}"
    return f"Shown {told} of a batch of {batch}, counted from 0."


def search_in_words(found: Canonical) -> str:
    """What the search cost, and the model by its parts."""
    search = getattr(found.model, "search", None)
    by = f" by the search {search!r}" if search is not None else ""
    return (
        f"The network was evaluated {found.evaluations:.4g} times per input{by}. "
        f"The transformations are those of {family_name(found.family)}."
    )


def answer_in_words(subject: Subject, i: int) -> str:
    """The class with the largest score, and the next one."""
    scores = subject.found.scores[int(subject.rows[i])].detach().cpu()
    best, *others = subject.leading[i].tolist()
    if subject.shared or len(scores) == 1:
        return f"Its score is {float(scores[best]):.4g}."
    text = f"The answer is {subject.name(best)}, with a score of {float(scores[best]):.4g}."
    return text + (f" Next is {subject.name(others[0])} with {float(scores[others[0]]):.4g}." if others else "")


def truth_in_words(subject: Subject, row: int) -> str:
    """The label of an input, if there is one class for it."""
    if subject.labels is None or subject.labels.dim() != 1:
        return ""
    label = int(subject.labels[row])
    answers = subject.found.answers
    right = not subject.shared and int(answers[row].argmax()) == label
    judged = "" if subject.shared else ", so the answer is right" if right else ", so the answer is wrong"
    return f"The input is labelled {subject.name(label)}{judged}."


def change_in_words(moves: Moved | None, i: int) -> list[str]:
    """What happened when the input was moved; nothing if it was not."""
    if moves is None:
        return []
    told = _told(moves.model[i], "the model", moves.parts)
    sentences = [f"The input was moved {moves.moves} times {moves.how}. {told}"]
    if moves.alone is not None:
        sentences.append(f"Without the search: {_told(moves.alone[i], 'the network alone', moves.parts)}")
    return sentences


def determined_in_words(determined: Tensor | None, row: int) -> list[str]:
    """Whether the answer can depend on the pose in which the input came."""
    if determined is None:
        return []
    if bool(determined[row]):
        return [
            "The search starts from directions that the input itself determines, so that it tries the same versions in "
            "whatever pose the input comes."
        ]
    return [
        "This input is too symmetric to determine the directions from which the search starts. The answer may depend "
        "on the pose in which it came."
    ]


def _told(change: Change, who: str, parts: str) -> str:
    """One change in words."""
    if change.classes is None:
        return f"The answer of {who} changed by {_percent(change.size)} of its length on average."
    if parts:
        return f"The answer of {who} was another one for {_percent(change.classes)} of the {parts}."
    classes = "never changed" if change.classes == 0 else f"changed in {_percent(change.classes)} of the cases"
    return f"The answer of {who} {classes}; its scores changed by {_percent(change.size)} of their spread on average."


def _percent(share: float) -> str:
    percent = 100 * share
    return "less than 0.01 %" if 0 < percent < 0.01 else f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"
