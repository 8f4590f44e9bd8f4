"""All cases."""

from cases.on_any_device import (
    answers,
    cloud_networks,
    families,
    graph_models,
    graph_rivals,
    rare_ways,
    searches,
    spaces,
    tools,
)
from cases.on_any_device.case import Case

ROOMS = (spaces, families, searches, answers, cloud_networks, graph_models, graph_rivals, tools, rare_ways)
CASES: dict[str, Case] = {name: case for room in ROOMS for name, case in room.CASES.items()}
