"""The doctor: what symmetries a given network lacks, and what adaptive canonicalization would bring it."""

from adacanon.diagnosis.advice import Advice
from adacanon.diagnosis.cautions import Caution
from adacanon.diagnosis.choice import Choice
from adacanon.diagnosis.class_names import own_names, read_class_names
from adacanon.diagnosis.examination import doctor
from adacanon.diagnosis.findings import Diagnosis, Example, Finding, Searched
from adacanon.diagnosis.models import load_model
from adacanon.diagnosis.order import Order
from adacanon.diagnosis.readings import Bin, Reading

__all__ = [
    "Advice",
    "Bin",
    "Caution",
    "Choice",
    "Diagnosis",
    "Example",
    "Finding",
    "Order",
    "Reading",
    "Searched",
    "doctor",
    "load_model",
    "own_names",
    "read_class_names",
]
