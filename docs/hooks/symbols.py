"""What our formulas are written with, and the characters that stand for it."""

_GREEK = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
_GREEK_CHARACTERS = "αβγδϵζηθικλμνξπρστϕχψωΓΔΘΛΞΠΣΦΨΩ"

LETTERS = {f"\\{name}": letter for name, letter in zip(_GREEK.split(), _GREEK_CHARACTERS, strict=True)} | {
    r"\varepsilon": "ε",
    r"\varphi": "φ",
    r"\ell": "ℓ",
    r"\infty": "∞",
    r"\emptyset": "∅",
    r"\top": "⊤",
    r"\dots": "…",
    r"\ldots": "…",
    r"\cdots": "⋯",
}

OPERATORS = {character: character for character in "+=,;:!/.'"} | {
    "-": "−",
    "*": "∗",
    "<": "&lt;",
    ">": "&gt;",
    r"\le": "≤",
    r"\ge": "≥",
    r"\ne": "≠",
    r"\approx": "≈",
    r"\sim": "∼",
    r"\propto": "∝",
    r"\in": "∈",
    r"\subset": "⊂",
    r"\cap": "∩",
    r"\cup": "∪",
    r"\to": "→",
    r"\leftarrow": "←",
    r"\mapsto": "↦",
    r"\circ": "∘",
    r"\cdot": "⋅",
    r"\times": "×",
    r"\otimes": "⊗",
    r"\odot": "⊙",
    r"\pm": "±",
    r"\bmod": "mod",
    r"\sum": "∑",
    r"\prod": "∏",
    r"\int": "∫",
    r"\nabla": "∇",
    r"\partial": "∂",
}

FUNCTIONS = {f"\\{name}": name for name in ["max", "min", "sup", "inf", "arg", "log", "exp", "sin", "cos", "det"]}

LIMITS = frozenset({r"\sum", r"\prod", r"\max", r"\min", r"\sup", r"\inf"})
"""Their indices stand below and above them in displays."""

FENCES = {character: character for character in "()[]|"} | {
    r"\{": "{",
    r"\}": "}",
    r"\|": "‖",
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
}

SPACES = {r"\,": "0.17em", r"\;": "0.28em", r"\ ": "0.25em", r"\quad": "1em", r"\qquad": "2em", r"\!": "-0.17em"}

ACCENTS = {r"\hat": "^", r"\bar": "¯", r"\tilde": "~"}

ALPHABETS = {
    r"\mathcal": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    r"\mathbb": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    r"\mathbf": ("MATHEMATICAL BOLD",),
}
"""Names in Unicode; some letters came before the others and have the second one."""
