"""The LaTeX of our pages and docstrings as MathML, which browsers show without any script or font from elsewhere.

It knows what our pages use and nothing more: an unknown command raises, so that no formula is shown wrongly.
"""

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from html import escape

from docs.hooks.symbols import ACCENTS, ALPHABETS, FENCES, FUNCTIONS, LETTERS, LIMITS, OPERATORS, SPACES

WORDS = re.compile(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}")
TOKEN = re.compile(WORDS.pattern.replace("([", "(?:[") + r"|\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S", flags=re.S)
SIZES = frozenset([r"\big", r"\bigl", r"\bigr", r"\Big", r"\Bigl", r"\Bigr", r"\left", r"\right"])


class MathError(ValueError):
    """A formula that the converter does not understand."""


def mathml(latex: str, *, display: bool = False) -> str:
    r"""One formula as a MathML element.

    Example:
        >>> mathml("x^2")
        '<math><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    tokens = _Tokens(latex)
    body = _row(tokens, until=None)
    return f'<math display="block">{body}</math>' if display else f"<math>{body}</math>"


class _Tokens:
    """The tokens of a formula, read from the left."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.rest = TOKEN.findall(latex)[::-1]

    def next(self) -> str:
        return self.rest.pop() if self.rest else ""

    def peek(self) -> str:
        return self.rest[-1] if self.rest else ""

    def error(self, problem: str) -> MathError:
        return MathError(f"{problem} in the formula {self.latex!r}. Hint: docs/hooks/symbols.py lists what is known")


def _row(tokens: _Tokens, until: str | None) -> str:
    """Everything up to a closing token, or to the end of the formula."""
    parts = []
    while tokens.peek() not in (until or "", ""):
        parts.append(_scripted(tokens))
    if tokens.next() != (until or ""):
        raise tokens.error(f"Expected {until!r}, got the end")
    return "".join(parts)


def _scripted(tokens: _Tokens) -> str:
    """An atom with its index and exponent; those of sums and maxima stand below and above in displays."""
    token = tokens.peek()
    base = _atom(tokens)
    scripts = {"_": "", "^": ""}
    while tokens.peek() in ("_", "^"):
        kind = tokens.next()
        if scripts[kind]:
            raise tokens.error(f"{kind!r} comes twice")
        scripts[kind] = _argument(tokens)
    below, above = scripts["_"], scripts["^"]
    names = ("munder", "mover", "munderover") if token in LIMITS else ("msub", "msup", "msubsup")
    if below and above:
        return _tag(names[2], base + below + above)
    return _tag(names[0], base + below) if below else _tag(names[1], base + above) if above else base


def _argument(tokens: _Tokens) -> str:
    """What an index or a command applies to: a group or one token, and of a number its first digit, as in LaTeX."""
    if tokens.peek()[:1].isdigit():
        number = tokens.next()
        tokens.rest += [number[1:]] if number[1:] else []
        return _tag("mn", number[0])
    return _atom(tokens)


def _atom(tokens: _Tokens) -> str:
    """One letter, number, symbol, group or command."""
    token = tokens.next()
    if token == "{":
        return _tag("mrow", _row(tokens, until="}"))
    if token in COMMANDS:
        return COMMANDS[token](tokens)
    if token in ACCENTS:
        return _accent(tokens, ACCENTS[token])
    if token in ALPHABETS:
        return _letter(tokens, ALPHABETS[token])
    if words := WORDS.fullmatch(token):
        return f'<mi mathvariant="normal">{escape(words[1])}</mi>'
    if token in SIZES:
        return _fence(tokens, tokens.next(), stretchy=token in (r"\left", r"\right"))
    if token in FENCES:
        return _fence(tokens, token, stretchy=False)
    if token[:1].isdigit():
        return _tag("mn", token)
    for known, tag in ((LETTERS, "mi"), (OPERATORS, "mo")):
        if token in known:
            return _tag(tag, known[token])
    if token in FUNCTIONS:
        return f'<mo movablelimits="true" lspace="0.17em" rspace="0.17em">{FUNCTIONS[token]}</mo>'
    if token in SPACES:
        return f'<mspace width="{SPACES[token]}"></mspace>'
    if len(token) == 1 and token.isalpha():
        return _tag("mi", token)
    raise tokens.error(f"Unknown {token!r}" if token else "Something is missing at the end")


def _fence(tokens: _Tokens, token: str, *, stretchy: bool) -> str:
    if token == ".":
        return ""
    if token not in FENCES:
        raise tokens.error(f"Expected a bracket, got {token!r}")
    return f'<mo stretchy="{str(stretchy).lower()}">{FENCES[token]}</mo>'


def _fraction(tokens: _Tokens) -> str:
    return _tag("mfrac", _argument(tokens) + _argument(tokens))


def _root(tokens: _Tokens) -> str:
    return _tag("msqrt", _argument(tokens))


def _accent(tokens: _Tokens, mark: str) -> str:
    return f'<mover accent="true">{_argument(tokens)}<mo>{mark}</mo></mover>'


def _letter(tokens: _Tokens, alphabet: tuple[str, ...]) -> str:
    """One letter or digit of another alphabet, with or without braces around it."""
    braces = tokens.peek() == "{" and tokens.next()
    letter = tokens.next()
    if braces and tokens.next() != "}":
        raise tokens.error("Expected one letter of another alphabet")
    kind = "DIGIT" if letter.isdigit() else "CAPITAL" if letter.isupper() else "SMALL"
    word = unicodedata.name(letter[:1], "").removeprefix("DIGIT ") if letter.isdigit() else letter.upper()
    for name in alphabet:
        with suppress(KeyError):
            return _tag("mi", unicodedata.lookup(f"{name} {kind} {word}"))
    raise tokens.error(f"No {letter!r} in the alphabet {alphabet[0].lower()!r}")


def _tag(name: str, content: str) -> str:
    return f"<{name}>{content}</{name}>"


COMMANDS: dict[str, Callable[[_Tokens], str]] = {r"\frac": _fraction, r"\tfrac": _fraction, r"\sqrt": _root}
