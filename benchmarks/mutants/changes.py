"""The mutants of a file: its syntax tree with one place changed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True, eq=False)
class Mutant:
    """A changed file, and in words what was changed where."""

    line: int
    words: str
    tree: ast.Module
    scope: str = ""
    """The outermost function it is in, as ``Class.method``; a class where it is in none, and nothing in neither."""

    @property
    def source(self) -> str:
        return ast.unparse(self.tree)


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a source; annotations, messages of errors, docstrings, imports for the type checker and
    ``strict=True``, which asserts what is so anyway, are left alone.

    Example:
        >>> [mutant.words for mutant in mutants("def f(x):\\n    return x + 1")]
        ['x + 1 -> x - 1', '1 -> 2']
    """
    yield from (mutant_at(source, place) for place in range(count_of(source)))


def count_of(source: str) -> int:
    """How many mutants a source has."""
    return len(_listed(source))


def mutant_at(source: str, place: int) -> Mutant:
    """One mutant, by its place among all."""
    number, way, scope = _listed(source)[place]
    tree = ast.parse(source)
    node = next(islice(_places(tree), number, None))
    before = _words(node)
    _change(node, way)
    words = f"{before} -> {_words(node)}"
    return Mutant(getattr(node, "lineno", 0), words, ast.fix_missing_locations(tree), scope)


@lru_cache(maxsize=4)
def _listed(source: str) -> list[tuple[int, int, str]]:
    """Every mutant as the place of its node, the way to change it, and its scope."""
    tree = ast.parse(source)
    scopes = dict(_scopes(tree, "", False))
    nodes = enumerate(_places(tree))
    return [(number, way, scopes[node]) for number, node in nodes for way in range(_ways(node))]


def _scopes(tree: ast.AST, scope: str, closed: bool) -> Iterator[tuple[ast.AST, str]]:
    """Every node with its scope; what is inside of a function belongs to that function."""
    yield tree, scope
    for child in ast.iter_child_nodes(tree):
        names = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not closed
        inner = f"{scope}.{child.name}".lstrip(".") if names else scope  # type: ignore[attr-defined]
        yield from _scopes(child, inner, closed or (names and not isinstance(child, ast.ClassDef)))


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that can be changed, in a stable order."""
    if isinstance(tree, ast.Raise | ast.AnnAssign | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(tree, ast.keyword) and tree.arg == "strict":
        return
    if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
        return
    if _ways(tree):
        yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _places(child)


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.Compare):
        return int(len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS)
    if isinstance(node, ast.BinOp):
        return int(type(node.op) in ARITHMETIC and not _is_text(node.left))
    if isinstance(node, ast.BoolOp | ast.If | ast.IfExp):
        return 1
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not | ast.USub))
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, bool | int | float))
    return 0


def _change(node: ast.AST, way: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif isinstance(node, ast.BinOp):
        node.op = ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]


def _words(node: ast.AST) -> str:
    return f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else ast.unparse(node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
