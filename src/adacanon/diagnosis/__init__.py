"""The doctor: what symmetries a given network lacks, and what adaptive canonicalization would bring it."""

from adacanon.diagnosis.examination import doctor
from adacanon.diagnosis.findings import Diagnosis, Finding, Searched
from adacanon.diagnosis.models import load_model

__all__ = ["Diagnosis", "Finding", "Searched", "doctor", "load_model"]
