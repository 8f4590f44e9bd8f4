"""One maker for each class of furniture: its boxes and cylinders, with random proportions."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.data.draws import Draws
from adacanon.data.solids import Interval, Solids, box, cylinder, present, rounded, together


@dataclass(frozen=True)
class _Room:
    """The box that a shape fills: width, height and depth, (shapes,)."""

    width: Tensor
    height: Tensor
    depth: Tensor

    @classmethod
    def drawn(cls, draws: Draws) -> "_Room":
        return cls(draws.between(0.35, 1), draws.between(0.35, 1), draws.between(0.35, 1))

    @property
    def x(self) -> Interval:
        return Interval(-self.width / 2, self.width / 2)

    @property
    def z(self) -> Interval:
        return Interval(-self.depth / 2, self.depth / 2)


def _middle(interval: Interval, inset: Tensor) -> Interval:
    """Without a margin at both ends."""
    return Interval(interval.low + inset, interval.high - inset)


def _first(interval: Interval, length: Tensor) -> Interval:
    return Interval(interval.low, interval.low + length)


def _last(interval: Interval, length: Tensor) -> Interval:
    return Interval(interval.high - length, interval.high)


def _legs(draws: Draws, x: Interval, z: Interval, height: Tensor) -> Solids:
    """Four at the corners, square or round."""
    thick = draws.between(0.04, 0.09)
    ends = (_first, _last)
    legs = together(*(box(i(x, thick), Interval(0.0, height), j(z, thick)) for i in ends for j in ends))
    return rounded(legs, draws.chance(0.5))


def _bed(draws: Draws) -> Solids:
    """A mattress on legs between a high headboard and a low footboard."""
    room = _Room.drawn(draws)
    bottom, top = room.height * draws.between(0.12, 0.3), room.height * draws.between(0.4, 0.6)
    head, foot = draws.between(0.04, 0.08), room.height * draws.between(0.6, 0.8)
    board = Interval(bottom, room.height)
    return together(
        box(room.x, Interval(bottom, top), _middle(room.z, head)),
        box(room.x, board, _first(room.z, head)),
        box(room.x, Interval(bottom, foot), _last(room.z, head)),
        _legs(draws, room.x, room.z, bottom),
    )


def _bench(draws: Draws) -> Solids:
    """A seat on two boards, with a rail between them."""
    room = _Room.drawn(draws)
    thick, board = draws.between(0.05, 0.1), draws.between(0.05, 0.1)
    under = room.height - thick
    inner, rail = _middle(room.x, room.width * draws.between(0.02, 0.15)), under * draws.between(0.2, 0.5)
    return together(
        box(room.x, Interval(under, room.height), room.z),
        box(_first(inner, board), Interval(0.0, under), room.z),
        box(_last(inner, board), Interval(0.0, under), room.z),
        box(
            _middle(inner, board),
            Interval(rail, rail + under * draws.between(0.1, 0.25)),
            Interval(-board / 2, board / 2),
        ),
    )


def _bookshelf(draws: Draws) -> Solids:
    """Two sides, a back, a bottom and a top, and one to four boards between them."""
    room = _Room.drawn(draws)
    thick, count = draws.between(0.03, 0.05), draws.between(2, 6).floor()
    inner, whole = _middle(room.x, thick), Interval(0.0, room.height)
    levels = [(room.height - thick) * number / count for number in range(6)]
    boards = [present(box(inner, Interval(y, y + thick), room.z), number <= count) for number, y in enumerate(levels)]
    sides = [box(end(room.x, thick), whole, room.z) for end in (_first, _last)]
    return together(*sides, *boards, box(inner, whole, _first(room.z, thick)))


def _chair(draws: Draws) -> Solids:
    """A seat with a back on four legs; every second one has arms."""
    room = _Room.drawn(draws)
    seat, thick = room.height * draws.between(0.35, 0.55), draws.between(0.04, 0.08)
    back, arm = draws.between(0.05, 0.1), draws.between(0.05, 0.08)
    elbow, arms = seat + (room.height - seat) * draws.between(0.35, 0.6), draws.chance(0.5)
    front = Interval(room.z.low + back, room.z.high)
    return together(
        box(room.x, Interval(seat - thick, seat), room.z),
        box(room.x, Interval(seat, room.height), _first(room.z, back)),
        *(present(box(end(room.x, arm), Interval(elbow - arm, elbow), front), arms) for end in (_first, _last)),
        _legs(draws, room.x, room.z, seat - thick),
    )


def _lamp(draws: Draws) -> Solids:
    """A round foot, a pole, and a round shade, upon it or at an arm to the front."""
    room = _Room.drawn(draws)
    foot, shade = room.depth * draws.between(0.4, 0.6), room.depth * draws.between(0.35, 0.6)
    thick, pole = draws.between(0.03, 0.08), draws.between(0.03, 0.06)
    reach = (room.depth - (shade + foot) / 2) * draws.chance(0.6)
    behind = room.z.low + foot / 2
    front = behind + reach
    under = room.height * draws.between(0.5, 0.75)
    return together(
        cylinder(0.0, behind, foot, Interval(0.0, thick)),
        cylinder(0.0, behind, pole, Interval(thick, room.height)),
        box(Interval(-pole / 2, pole / 2), Interval(room.height - pole, room.height), Interval(behind, front)),
        cylinder(0.0, front, shade, Interval(under, room.height - pole)),
    )


def _sofa(draws: Draws) -> Solids:
    """A block to sit on, with a thick back and thick arms."""
    room = _Room.drawn(draws)
    seat, elbow = room.height * draws.between(0.3, 0.5), room.height * draws.between(0.6, 0.8)
    back, arm = room.depth * draws.between(0.2, 0.35), room.width * draws.between(0.12, 0.22)
    front = Interval(room.z.low + back, room.z.high)
    return together(
        box(_middle(room.x, arm), Interval(0.0, seat), front),
        box(room.x, Interval(0.0, room.height), _first(room.z, back)),
        *(box(end(room.x, arm), Interval(0.0, elbow), front) for end in (_first, _last)),
    )


def _stool(draws: Draws) -> Solids:
    """A round seat, on a pole that stands on a cross, or on four legs."""
    room = _Room.drawn(draws)
    seat, thick = torch.minimum(room.width, room.depth), draws.between(0.05, 0.12)
    under, legs = room.height - thick, draws.chance(0.5)
    inside = Interval(-0.35 * seat, 0.35 * seat)
    return together(
        cylinder(0.0, 0.0, seat, Interval(under, room.height)),
        present(_on_a_pole(draws, room, under), ~legs),
        present(_legs(draws, inside, inside, under), legs),
    )


def _table(draws: Draws) -> Solids:
    """A top, on a pole that stands on a cross, or on four legs, perhaps with a board between them."""
    room = _Room.drawn(draws)
    under, low = room.height - draws.between(0.04, 0.08), room.height * draws.between(0.15, 0.4)
    x, z = _middle(room.x, draws.between(0, 0.1)), _middle(room.z, draws.between(0, 0.1))
    legs, board = draws.chance(0.7), box(x, Interval(low, low + draws.between(0.03, 0.05)), z)
    return together(
        box(room.x, Interval(under, room.height), room.z),
        present(board, legs & draws.chance(0.5)),
        present(_on_a_pole(draws, room, under), ~legs),
        present(_legs(draws, x, z, under), legs),
    )


def _on_a_pole(draws: Draws, room: _Room, height: Tensor) -> Solids:
    bar, pole = draws.between(0.05, 0.09), draws.between(0.06, 0.12)
    narrow, floor = Interval(-bar / 2, bar / 2), Interval(0.0, bar)
    cross = together(box(room.x, floor, narrow), box(narrow, floor, room.z))
    return together(cylinder(0.0, 0.0, pole, Interval(bar, height)), cross)


MAKERS: dict[str, Callable[[Draws], Solids]] = {
    "bed": _bed,
    "bench": _bench,
    "bookshelf": _bookshelf,
    "chair": _chair,
    "lamp": _lamp,
    "sofa": _sofa,
    "stool": _stool,
    "table": _table,
}
