"""One training loop for every method, with checkpoints from which it goes on, and records of results."""

from adacanon.training.checkpoint import load_checkpoint, remove_checkpoint, save_checkpoint
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import (
    DataSplit,
    History,
    TrainingControl,
    accuracy,
    evaluate,
    random_split,
    stratified_folds,
    train,
)
from adacanon.training.ranking import average_precision, roc_auc
from adacanon.training.records import append_record, read_records
from adacanon.training.schedule import Schedule

__all__ = [
    "DataSplit",
    "History",
    "Learner",
    "Schedule",
    "TrainingControl",
    "accuracy",
    "append_record",
    "average_precision",
    "evaluate",
    "load_checkpoint",
    "looked_up",
    "random_split",
    "read_records",
    "remove_checkpoint",
    "roc_auc",
    "save_checkpoint",
    "stratified_folds",
    "train",
]
