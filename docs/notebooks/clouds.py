# %% [markdown]
# # Point clouds: a network that has only seen upright shapes
#
# You have a network for point clouds, trained on shapes that all stand upright. Then the shapes come turned. This
# notebook shows how the network fails, how to wrap it, how to fine-tune it, and which poses it then chooses.
#
# The shapes are letters made of points, so that nothing has to be downloaded.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional

import adacanon
from adacanon.points import Rotations
from adacanon.spaces import SO3

torch.manual_seed(0)
LETTERS = {
    "L": [((-0.5, 1), (-0.5, -1)), ((-0.5, -1), (0.7, -1))],
    "T": [((-0.8, 1), (0.8, 1)), ((0, 1), (0, -1))],
    "U": [((-0.6, 1), (-0.6, -1)), ((-0.6, -1), (0.6, -1)), ((0.6, -1), (0.6, 1))],
    "X": [((-0.7, 1), (0.7, -1)), ((0.7, 1), (-0.7, -1))],
}


def random_letters(count, points=64):
    """Clouds (count, points, 3) of upright letters with their own proportions, and which letter each of them is."""
    labels = torch.randint(len(LETTERS), (count,))
    clouds = torch.zeros(count, points, 3)
    for cloud, label in zip(clouds, labels):
        strokes = torch.tensor(list(LETTERS.values())[label])
        start, end = strokes[torch.randint(len(strokes), (points,))].unbind(1)
        cloud[:, :2] = start + torch.rand(points, 1) * (end - start)
        cloud *= 1 + 0.2 * torch.randn(3)
        cloud += 0.05 * torch.randn(points, 3)
    return clouds - clouds.mean(1, keepdim=True), labels


def turned(clouds):
    """Each cloud in a random pose."""
    return clouds @ SO3().sample(len(clouds)).float().mT


def accuracy(model, clouds, labels):
    model.eval()
    with torch.no_grad():
        return f"{100 * (adacanon.predict(model(clouds)) == labels).double().mean():.0f} %"


train, train_labels = random_letters(400)
test, test_labels = random_letters(200)
turned_test = turned(test)

# %% [markdown]
# ## A plain network
#
# Any module from clouds to class scores will do. This one looks at every point, and takes the maximum over points. It
# learns the upright letters. On turned letters it does much worse; guessing gives 25 %.


# %%
class Network(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.points = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 128))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, clouds):
        return self.head(self.points(clouds).amax(1))


network = Network(len(LETTERS))
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
for epoch in range(20):
    network.train()
    for batch in torch.randperm(len(train)).split(40):
        loss = functional.cross_entropy(network(train[batch]), train_labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("upright:", accuracy(network, test, test_labels))
print("turned: ", accuracy(network, turned_test, test_labels))

# %% [markdown]
# ## Wrap it
#
# `Canonicalized` tries 24 poses of each cloud, those whose principal axes lie along the axes of space. Each class takes
# the pose in which the network is most confident of it. Nothing is trained here.

# %%
model = adacanon.Canonicalized(network, Rotations())
print("turned, wrapped:", accuracy(model, turned_test, test_labels))
print("largest change of a score when the input is turned:")
with torch.no_grad():
    print(f"{(model(turned(test)) - model(test)).abs().max():.1e}")

# %% [markdown]
# The wrapped network gives the same answer for every pose of a letter. It is not yet accurate: it has never seen the
# letters from the side, and may be confident of a wrong letter there. Training under the search cures that.
#
# ## Fine-tune it
#
# `Objective` takes a batch and its labels, and returns the loss. It needs no turned clouds: for this model a turned
# cloud and an upright one are the same.

# %%
objective = adacanon.Objective(model, forms=2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for batch in torch.randperm(len(train)).split(40):
        optimizer.zero_grad()
        objective(train[batch], train_labels[batch]).loss.backward()
        optimizer.step()
print("upright:", accuracy(model, test, test_labels))
print("turned: ", accuracy(model, turned_test, test_labels))

# %% [markdown]
# ## Look at what was chosen
#
# `canonicalize` returns everything that the search found. Above: letters as they come, turned. Below: the pose that the
# model chose for the class that it answers.

# %%
found = model.canonicalize(turned_test[:6])
answers = adacanon.predict(found.logits)
forms = found.forms()[torch.arange(6), answers]  # (6, points, 3)

figure, axes = plt.subplots(2, 6, figsize=(9, 3.2), sharex=True, sharey=True)
for column, (given, chosen, answer) in enumerate(zip(turned_test, forms, answers)):
    for row, cloud in enumerate((given, chosen)):
        axes[row, column].scatter(cloud[:, 0], cloud[:, 1], s=3)
        axes[row, column].set_aspect("equal")
        axes[row, column].set_axis_off()
    axes[1, column].set_title("".join(LETTERS)[answer], y=-0.3)
plt.show()
