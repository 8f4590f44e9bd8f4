"""The checks of ``adacanon.arguments``, under the name by which the engine knows them."""

from adacanon.arguments import MOST, real_number, set_real_numbers, set_whole_numbers, whole_number

__all__ = ["MOST", "real_number", "set_real_numbers", "set_whole_numbers", "whole_number"]
