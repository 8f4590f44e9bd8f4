"""Models as files that run without adacanon: ``adacanon.export``."""

from adacanon.deployment.exporting import Exported, export

__all__ = ["Exported", "export"]
