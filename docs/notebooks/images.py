# %% [markdown]
# # Images: a classifier that has only seen upright pictures
#
# You have an image classifier, and the pictures come at any angle. This notebook measures the problem with the doctor,
# wraps the classifier, fine-tunes it, and looks at the angles that it then chooses.
#
# The pictures are letters of different widths, drawn here with noise, so that nothing has to be downloaded.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional

import adacanon
from adacanon.data import pixel_centres
from adacanon.images import Rotations

torch.manual_seed(0)
SIDE = 20
STROKES = {
    "L": [((-0.3, 0.6), (-0.3, -0.6)), ((-0.3, -0.6), (0.5, -0.6))],
    "T": [((-0.5, 0.6), (0.5, 0.6)), ((0, 0.6), (0, -0.6))],
    "U": [((-0.4, 0.6), (-0.4, -0.6)), ((-0.4, -0.6), (0.4, -0.6)), ((0.4, -0.6), (0.4, 0.6))],
    "F": [((-0.4, 0.6), (-0.4, -0.6)), ((-0.4, 0.6), (0.4, 0.6)), ((-0.4, 0.0), (0.2, 0.0))],
    "H": [((-0.4, 0.6), (-0.4, -0.6)), ((0.4, 0.6), (0.4, -0.6)), ((-0.4, 0.0), (0.4, 0.0))],
    "V": [((-0.4, 0.6), (0.0, -0.6)), ((0.0, -0.6), (0.4, 0.6))],
}
PIXELS = pixel_centres(SIDE)  # (pixels, 2)


def drawn(strokes, angle):
    """One letter, turned by an angle: dark where no stroke is near, (1, side, side)."""
    turn = torch.tensor([[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]])
    start, end = (torch.tensor(strokes) @ turn).unbind(1)
    along = end - start
    place = ((PIXELS[:, None] - start) * along).sum(-1) / along.square().sum(-1)
    nearest = start + place.clamp(0, 1)[..., None] * along
    distance = (PIXELS[:, None] - nearest).norm(dim=-1).amin(1)
    return (1.5 - 10 * distance).clamp(0, 1).reshape(1, SIDE, SIDE)


def random_letters(count, largest_angle):
    """Pictures (count, 1, side, side) of letters of random width and angle, and which letter each of them is."""
    labels = torch.randint(len(STROKES), (count,))
    letters = [torch.tensor(list(STROKES.values())[label]) for label in labels]
    widths, angles = 0.8 + 0.4 * torch.rand(count), largest_angle * (2 * torch.rand(count) - 1)
    stretch = torch.stack([widths, torch.ones(count)], dim=1)
    pictures = [drawn((s * w).tolist(), a) for s, w, a in zip(letters, stretch, angles)]
    noise = 0.3 * torch.rand(count, 1, SIDE, SIDE)
    return 0.7 * torch.stack(pictures) + noise, labels


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        return f"{100 * (adacanon.predict(model(images)) == labels).double().mean():.0f} %"


train, train_labels = random_letters(400, largest_angle=0.1)
test, test_labels = random_letters(200, largest_angle=0.1)
turned, turned_labels = random_letters(200, largest_angle=torch.pi)

# %% [markdown]
# ## A plain classifier
#
# A small convolutional network learns the upright letters, and fails on turned ones.

# %%
network = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 5, padding=2),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 25, len(STROKES)),
)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
for epoch in range(6):
    for batch in torch.randperm(len(train)).split(40):
        loss = functional.cross_entropy(network(train[batch]), train_labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("upright:", accuracy(network, test, test_labels))
print("turned: ", accuracy(network, turned, turned_labels))

# %% [markdown]
# ## Measure it with the doctor
#
# The doctor turns the inputs itself, and says how much accuracy falls and how much a search over angles recovers
# without any training.

# %%
loader = list(zip(test.split(50), test_labels.split(50)))
(finding,) = adacanon.doctor(network, loader, families=["rotation"], candidates=(1, 4, 16)).findings
print(f"accuracy {finding.alone_as_given.accuracy:.0f} % upright, {finding.alone_transformed.accuracy:.0f} % turned")
for searched in finding.searched:
    print(f"{searched.candidates:2d} candidates recover {searched.recovered:.0f} points")

# %% [markdown]
# ## Wrap it
#
# The search tries 16 angles of every picture. What a rotation moves out of the picture is lost, so the family works on
# the inscribed disc. Nothing is trained.

# %%
model = adacanon.Canonicalized(network, Rotations("disc"), adacanon.GridSearch(16))
print("turned, 16 angles:", accuracy(model, turned, turned_labels))

# %% [markdown]
# ## Fine-tune it, with fewer angles
#
# 16 angles cost 16 passes of the network. With 4 angles, quarter turns, letters still come up to 45 degrees away from
# upright, where the network has never seen them. So fine-tune under that search, on turned pictures.

# %%
model = adacanon.Canonicalized(network, Rotations("disc"), adacanon.GridSearch(4))
print("turned, 4 angles:            ", accuracy(model, turned, turned_labels))

more, more_labels = random_letters(400, largest_angle=torch.pi)
objective = adacanon.Objective(model, forms=2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    for batch in torch.randperm(len(more)).split(40):
        optimizer.zero_grad()
        objective(more[batch], more_labels[batch]).loss.backward()
        optimizer.step()
print("turned, 4 angles, fine-tuned:", accuracy(model, turned, turned_labels))

# %% [markdown]
# ## Look at what was chosen
#
# Above: letters as they come. Below: the same letters at the angle that the model chose for its answer.

# %%
found = model.canonicalize(turned[:6])
answers = adacanon.predict(found.logits)
forms = found.forms()[torch.arange(6), answers]

figure, axes = plt.subplots(2, 6, figsize=(9, 3.4))
for column, (given, chosen, answer) in enumerate(zip(turned, forms, answers)):
    for row, image in enumerate((given, chosen)):
        axes[row, column].imshow(image[0], cmap="gray")
        axes[row, column].set_axis_off()
    axes[1, column].set_title("".join(STROKES)[answer], y=-0.3)
plt.show()
