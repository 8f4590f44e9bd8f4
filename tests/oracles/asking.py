"""Questions of a cascade, input by input, class by class, in rounds that double what was seen."""

import math

from torch import Tensor

from adacanon.maximizers import RankerErrors


def soft(values: list[float], tau: float) -> float:
    """The soft maximum of some numbers; at zero the largest."""
    if tau == 0:
        return max(values)
    return tau * math.log(sum(math.exp(v / tau) for v in values) / len(values))


def corrected(errors: RankerErrors, guessed: Tensor, seen: dict[int, Tensor], i: int, d: int) -> tuple[float, float]:
    """The estimate of a value that is not known, and its deviation."""
    bias, a, e = float(errors.bias[d]), float(errors.common[d]) ** 2, float(errors.own[d]) ** 2
    beyond = [float(seen[j][d]) - float(guessed[j, d]) - bias for j in seen]
    share = a / (e + len(seen) * a)
    return float(guessed[i, d]) + bias + share * sum(beyond), math.sqrt(e + share * e)


def questions(values: Tensor, guessed: Tensor, errors: RankerErrors, *, most: int, tau: float = 0.0) -> list[int]:
    """The candidates of one input that the network sees, in their order; both tensors are (candidates, classes)."""
    candidates, classes = range(len(values)), range(values.shape[1])
    caution = float(errors.caution)
    order = [max(candidates, key=lambda i: max(float(guessed[i, d] + errors.bias[d]) for d in classes))]
    while len(order) < min(most, len(values)):
        seen = {i: values[i] for i in order}
        others = [i for i in candidates if i not in seen]

        def said(i: int, d: int, sign: int, seen: dict[int, Tensor] = seen) -> float:
            if i in seen:
                return float(seen[i][d])
            expected, deviation = corrected(errors, guessed, seen, i, d)
            return expected + sign * caution * deviation

        if tau == 0:
            sure = [max(float(seen[i][d]) for i in seen) for d in classes]
        else:
            sure = [soft([said(i, d, -1) for i in candidates], tau) for d in classes]
        leader = max(classes, key=lambda d: sure[d])
        rivals = [d for d in classes if d != leader]
        if max(soft([said(i, d, 1) for i in candidates], tau) for d in rivals) <= sure[leader]:
            return order
        looked_at = rivals if tau == 0 else list(classes)
        promising = sorted(others, key=lambda i: -max(said(i, d, 1) for d in looked_at))
        order += promising[: min(len(order), most - len(order))]  # as many as it has seen before
    return order
