"""A few molecules in the layout of the official files of QM9."""

from pathlib import Path

HEADER = "gdb {}\t157.7 157.7 157.7 0.0 {} -0.38 0.11 {} 35.36 0.04 -40.4 -40.4 -40.4 -40.4 6.469\t"
METHANE = [
    "C\t-0.0127\t1.0858\t8.0e-3\t-0.535689",
    "H\t2.1503*^-3\t-6.0313*^-3\t1.9761*^-3\t0.133921",
    "H\t1.0117\t1.4637\t0.0003\t0.133922",
    "H\t-0.5408\t1.4475\t-0.8766\t0.133923",
    "H\t-0.5238\t1.4379\t0.9064\t0.133923",
]
WATER = [
    "O\t-0.0344\t0.9775\t0.0076\t-0.589706",
    "H\t0.0648\t0.0206\t0.0015\t0.294853",
    "H\t0.8718\t1.3008\t0.0007\t0.294853",
]


def official(folder: Path, count: int = 6) -> Path:
    """Methane and water in turn, with gaps and polarizabilities that tell molecules apart."""
    folder.mkdir()
    for number in range(1, count + 1):
        atoms = METHANE if number % 2 else WATER
        header = HEADER.format(number, 10 + number, f"0.{number}")
        lines = [str(len(atoms)), header, *atoms, "1341.3\t1341.3", "C\tC", "InChI=1S\tInChI=1S"]
        (folder / f"dsgdb9nsd_{number:06d}.xyz").write_text("\n".join(lines) + "\n")
    return folder
