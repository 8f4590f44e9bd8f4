"""The doctor: what symmetries a given network lacks, and what adaptive canonicalization would bring it."""

from adacanon.diagnosis.examination import doctor
from adacanon.diagnosis.findings import Diagnosis, Example, Finding, Searched
from adacanon.diagnosis.models import load_model
from adacanon.diagnosis.readings import Bin, Order, Reading

__all__ = ["Bin", "Diagnosis", "Example", "Finding", "Order", "Reading", "Searched", "doctor", "load_model"]
