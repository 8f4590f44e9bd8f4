"""What a new user does first, with the wheel and without extras: import, wrap a network, predict, look at what was
found, start the command. Run by ``.ci/check_wheel.py`` in an environment of its own.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import adacanon
import adacanon.data
import adacanon.images
from adacanon.extras import missing_packages
from adacanon.points import PointNet, Rotations

EXTRA = 'pip install "adacanon['


def main() -> None:
    assert Path(adacanon.__file__).is_relative_to(sys.prefix), adacanon.__file__
    missing = missing_packages()
    assert {"tyro", "rich", "matplotlib", "torch-geometric"} <= set(missing), missing
    print(f"without {', '.join(missing)}")
    page_of(a_model_of_images(), "images.html")
    page_of(a_model_of_clouds(), "clouds.html")
    assert named_extra(lambda: adacanon.data.load_tu("MUTAG"))
    the_command(missing)


def a_model_of_images() -> Any:
    """A classifier that is there already gets a symmetry."""
    classifier = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    images = torch.rand(2, 3, 16, 16)
    model = adacanon.Canonicalized(classifier, adacanon.images.Rotations("disc")).eval()
    assert adacanon.predict(model(images)).shape == (2,)
    diagnosis = adacanon.doctor(classifier, [(images, torch.tensor([0, 1]))], candidates=(1, 4))
    assert diagnosis.as_json()
    assert named_extra(lambda: diagnosis.save(Path("doctor")))
    return model.canonicalize(images)


def a_model_of_clouds() -> Any:
    """A step of training, and the canonical forms."""
    clouds, labels = torch.randn(4, 64, 3), torch.tensor([0, 1, 2, 0])
    model = adacanon.Canonicalized(PointNet(3), Rotations())
    optimizer = torch.optim.Adam(model.parameters())
    adacanon.Objective(model)(clouds, labels).loss.backward()
    optimizer.step()
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt"))
    found = model.eval().canonicalize(clouds)
    assert found.forms().shape == (4, 3, 64, 3)
    return found


def page_of(found: Any, name: str) -> None:
    """A page that explains what was found, or an error that names the extra."""
    if not hasattr(found, "save"):
        print("there are no pages that explain yet")
    elif not named_extra(lambda: found.save(name)):
        assert "<html" in Path(name).read_text().lower()


def named_extra(call: Callable[[], object]) -> bool:
    """Whether a call ends in an error, which then must name the extra that is missing."""
    try:
        call()
    except adacanon.AdacanonError as error:
        message = str(error)
    else:
        return False
    assert EXTRA in message, message
    return True


def the_command(missing: list[str]) -> None:
    """It starts, and says what is missing."""
    assert command("--version") == (0, f"adacanon {adacanon.__version__}\n")
    for words in (["--help"], ["doctor", "--help"], []):
        code, said = command(*words)
        assert code == 0, said
        assert EXTRA in said, said
        assert all(name in said for name in missing), said
    code, said = command("report", "toy")
    assert (code, EXTRA in said, "Traceback" in said) == (2, True, False), said
    module = subprocess.run([sys.executable, "-m", "adacanon", "--version"], capture_output=True, text=True)
    assert module.stdout == f"adacanon {adacanon.__version__}\n"


def command(*words: str) -> tuple[int, str]:
    done = subprocess.run([Path(sys.prefix) / "bin" / "adacanon", *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    main()
