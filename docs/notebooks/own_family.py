# %% [markdown]
# # A family of your own: signals that may start anywhere
#
# Your inputs have a symmetry that the library does not know. Here they are periodic signals, such as one turn of a
# machine, and the recording may start at any moment. This notebook writes the family of shifts, certifies it with the
# contract tests, and gives its symmetry to an ordinary network.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional

import adacanon
from adacanon.spaces import Finite
from adacanon.testing import assert_invariant, check_family

torch.manual_seed(0)
LENGTH = 32
FAULTS = ("none", "one knock", "two knocks", "a slow knock")


def random_signals(count):
    """Signals (count, length) that start at the same moment, with noise, and the fault that each of them shows."""
    time = torch.arange(LENGTH)
    wave = torch.sin(2 * torch.pi * time / LENGTH)
    sharp = torch.exp(-((time - 8) ** 2) / 2.0)
    shapes = torch.stack([wave, wave + sharp, wave + sharp + sharp.roll(12), wave + torch.exp(-((time - 8) ** 2) / 18)])
    labels = torch.randint(len(FAULTS), (count,))
    return shapes[labels] + 0.15 * torch.randn(count, LENGTH), labels


def shifted(signals):
    """Each signal from another start."""
    return torch.stack([signal.roll(int(torch.randint(LENGTH, ()))) for signal in signals])


train, train_labels = random_signals(600)
test, test_labels = random_signals(300)

# %% [markdown]
# ## The network alone


# %%
def accuracy(model, signals, labels):
    model.eval()
    with torch.no_grad():
        return f"{100 * (adacanon.predict(model(signals)) == labels).double().mean():.0f} %"


network = nn.Sequential(nn.Linear(LENGTH, 64), nn.ReLU(), nn.Linear(64, len(FAULTS)))
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
for epoch in range(15):
    for batch in torch.randperm(len(train)).split(50):
        loss = functional.cross_entropy(network(train[batch]), train_labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("same start: ", accuracy(network, test, test_labels))
print("other start:", accuracy(network, shifted(test), test_labels))

# %% [markdown]
# ## The family
#
# A family says two things. `space` is the set of its transformations, here 32 shifts. `transform` applies them to a
# list of pairs: pair p is the shift `u[p]` of the signal `g[owner[p]]`.


# %%
class Shifts(adacanon.Family):
    def space(self, g):
        return Finite(g.shape[1])

    def transform(self, g, u, owner):
        length = g.shape[1]
        return g[owner].gather(1, (torch.arange(length) - u[:, None]) % length)


# %% [markdown]
# ## Certify it
#
# `check_family` checks the laws that a search relies on, and names the law that is broken. `assert_invariant` checks
# the model: with all 32 shifts as candidates, a shift of the input changes nothing.

# %%
print(check_family(Shifts(), test[:4]))
model = adacanon.Canonicalized(network, Shifts(), adacanon.GridSearch(LENGTH)).eval()
print("largest change of a score:", assert_invariant(model, test[:20], Shifts(), tolerance=1e-5))

# %% [markdown]
# ## Fine-tune, and look at what was chosen

# %%
print("other start, wrapped:   ", accuracy(model, shifted(test), test_labels))
objective = adacanon.Objective(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    model.train()
    for batch in torch.randperm(len(train)).split(50):
        optimizer.zero_grad()
        objective(train[batch], train_labels[batch]).loss.backward()
        optimizer.step()
print("other start, fine-tuned:", accuracy(model, shifted(test), test_labels))

# %%
signals = shifted(test[test_labels == 2][:8])
found = model.canonicalize(signals)
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True)
axes[0].plot(signals.T, alpha=0.5)
axes[0].set_title("two knocks, as they come")
axes[1].plot(found.forms()[:, 2].T, alpha=0.5)
axes[1].set_title("shifts chosen for this class")
plt.show()
