"""Times that can be compared: measured in turn, in one run."""

import statistics
import time
from collections.abc import Callable

Clock = Callable[[], float]


def medians(
    actions: dict[str, Callable[[], object]], *, repetitions: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each action. They are interleaved: a busy moment of the machine hits all alike."""
    for action in actions.values():
        action()
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            begin = clock()
            action()
            seconds[name].append(clock() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}
