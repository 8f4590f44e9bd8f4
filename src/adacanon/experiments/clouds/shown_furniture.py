"""What the page of the demo shows of single shapes: one of each class, and what networks say of a chair."""

import torch
from torch import Tensor, nn

from adacanon.experiments.clouds.chairs import camera, poses_of
from adacanon.experiments.clouds.furniture import Shapes, Sizes, Trained
from adacanon.reports.demo_words import PLAIN, TUNED, WRAPPED
from adacanon.reports.gallery import encoded
from adacanon.training.records import Record

CHAIR, POINTS = "chair", 300
"""The class of the first picture, and the points of which it is drawn at most."""


def first_of_each_class(shapes: Shapes) -> Tensor:
    """Indices of test shapes; nobody has chosen them."""
    present = shapes.labels.unique().tolist()
    return torch.stack([(shapes.labels == label).nonzero()[0, 0] for label in present])


def shapes_record(trained: Trained, shapes: Shapes, sizes: Sizes) -> Record:
    """Turned shapes, the rotations into the forms that decided, and what was said of them."""
    index = first_of_each_class(shapes)
    found = trained.tuned.canonicalize(shapes.turned[index])
    answers = found.logits.argmax(1)
    rotations = found.parameters[torch.arange(len(index)), answers]
    poses = poses_of(shapes.upright[index], shapes.turned[index])
    clouds, _ = shapes.furniture.draw(sizes.shown, index=index, generator=torch.Generator().manual_seed(0))
    heights = clouds[..., 1]
    low, high = heights.amin(1, keepdim=True), heights.amax(1, keepdim=True)
    drawn = encoded(
        clouds @ poses.mT, rotations, (heights - low) / (high - low).clamp(min=1e-9), camera(rotations @ poses)
    )
    names = shapes.furniture.class_names
    return {
        "kind": "shapes",
        "drawn": drawn,
        "truth": [names[label] for label in shapes.labels[index].tolist()],
        "plain": [names[label] for label in trained.plain(shapes.turned[index]).argmax(1).tolist()],
        "tuned": [names[label] for label in answers.tolist()],
    }


def chair_record(trained: Trained, shapes: Shapes, sizes: Sizes) -> Record:
    """The first chair of the test part, upright and turned, and what every network says of it."""
    names = shapes.furniture.class_names
    first = (shapes.labels == names.index(CHAIR)).nonzero()[:1, 0]
    cloud = shapes.furniture.draw(sizes.shown, index=first, generator=torch.Generator().manual_seed(0))[0][0, :POINTS]
    pose = poses_of(shapes.upright[first], shapes.turned[first])[0]
    networks = {PLAIN: trained.plain, WRAPPED: trained.wrapped, TUNED: trained.tuned}
    view = camera(torch.eye(3)[None])
    return {
        "kind": "chair",
        "truth": CHAIR,
        "views": [
            {
                "title": f"The {CHAIR}, {name}",
                "points": [[round(value, 3) for value in point] for point in (shown @ view.mT).tolist()],
                "said": [_said(who, network, shapes.poses(name)[first], names) for who, network in networks.items()],
            }
            for name, shown in (("upright", cloud), ("turned", cloud @ pose.mT))
        ],
    }


@torch.no_grad()
def _said(who: str, network: nn.Module, cloud: Tensor, names: tuple[str, ...]) -> tuple[str, str, float]:
    """Who says what, and how sure it is."""
    probability, label = network(cloud).softmax(1)[0].max(0)
    return who, names[int(label)], round(float(probability), 4)
