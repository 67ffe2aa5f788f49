"""The small changes that make mutants of a source file, and the lines that run what changed."""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS = {
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
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitXor: ast.BitOr,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = ("argmax argmin", "max min", "maximum minimum", "amax amin", "any all", "floor ceil")
NAMES = {a: b for pair in OPPOSITES for a, b in (pair.split(), pair.split()[::-1])}
QUIET_CALLS = ("warnings.", "logging.", "_log.", "log.", "print(")
UNCHANGED = ("annotation", "returns", "decorator_list", "type_params")
LARGE = 9  # limits and sizes of modules, which one more or less does not change
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Change(NamedTuple):
    """Replace ``source[start:end]``, in bytes, by a text.

    ``lines`` holds the lines that run the changed place, ``owner`` the names of the definitions
    around it from the outermost, and ``imported`` says that it runs while its module is imported.
    """

    operator: str
    start: int
    end: int
    text: str
    lines: frozenset[int]
    owner: tuple[str, ...]
    imported: bool

    def apply(self, source: str) -> str:
        content = source.encode()
        return (content[: self.start] + self.text.encode() + content[self.end :]).decode()


def _expressions(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield (operator, node to replace, text) for each change of one expression."""

    def changed(**fields: object) -> str:
        other = copy.copy(node)
        vars(other).update(fields)
        return f"({ast.unparse(other)})"

    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                ops = [*node.ops[:i], COMPARISONS[type(op)](), *node.ops[i + 1 :]]
                yield "comparison", node, changed(ops=ops)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            texts = (ast.JoinedStr, ast.Constant)
            if not any(isinstance(x, texts) and not _is_number(x) for x in (left, right)):
                yield "arithmetic", node, changed(op=ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", node, changed(op=ARITHMETIC[type(op)]())[1:-1]
        case ast.BoolOp(op=op):
            yield "and/or", node, changed(op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Constant(value=bool() as value):
            yield "true/false", node, str(not value)
        case ast.Constant(value=int() | float() as value):
            for number in (value + 1, value - 1):
                yield "constant", node, f"({number})" if number < 0 else repr(number)
        case ast.Slice(lower=lower, upper=upper) if lower or upper:
            yield "slice", node, changed(lower=upper, upper=lower)[1:-1]
        case ast.Name(id=name) if name in NAMES:
            yield "opposite", node, NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            yield "opposite", node, changed(attr=NAMES[name])[1:-1]
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield "negation", node.test, f"(not ({ast.unparse(node.test)}))"
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield "negation", test, f"(not ({ast.unparse(test)}))"


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    match node:
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            for other in {"None", "0"} - {ast.unparse(value)}:
                yield "return", node, f"return {other}"
        case ast.Break() | ast.Continue() | ast.AugAssign() | ast.Raise():
            yield "deletion", node, "pass"
        case ast.Expr(value=ast.Call()):
            yield "deletion", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "deletion", node, "pass"


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_quiet(node: ast.AST) -> bool:
    """Return whether what a node says is for people or type checkers, not for tests."""
    match node:
        case ast.JoinedStr():
            return True
        case ast.Expr():
            return ast.unparse(node).startswith(QUIET_CALLS)
        case ast.If():
            return ast.unparse(node.test) == "TYPE_CHECKING"
        case ast.keyword():
            return node.arg in ("strict", "stacklevel")
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a mutant may change: no annotation, no decorator, no text of an error."""
    for name, value in ast.iter_fields(node):
        if name not in UNCHANGED and not isinstance(node, ast.Raise):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_quiet(child):
                    yield child


def changes(source: str) -> list[Change]:
    """Return all changes of a source; a few leave the program as it was (see ``differs``)."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    out: list[Change] = []

    def visit(node: ast.AST, around: Change) -> None:
        here = around
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            lines = frozenset(range(node.body[0].lineno, node.end_lineno + 1))
            here = here._replace(lines=lines, owner=(*here.owner, node.name))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not here.owner:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            here = here._replace(owner=(ast.unparse(target),))
        elif isinstance(node, ast.stmt) and not here.imported:
            here = here._replace(lines=frozenset({node.lineno}))
        for operator, old, text in (*_statements(node), *_expressions(node)):
            if here.imported and operator == "constant" and abs(old.value) > LARGE:
                continue
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            own = () if here.imported else range(old.lineno, old.end_lineno + 1)
            out.append(Change(operator, start, end, text, here.lines.union(own), *here[-2:]))
        for child in _children(node):
            in_body = isinstance(node, FUNCTIONS) and child in node.body
            visit(child, here._replace(imported=False) if in_body else here)

    visit(ast.parse(source), Change("", 0, 0, "", frozenset(), (), imported=True))
    return out


def differs(source: str, other: str) -> bool:
    """Return whether the second source is a program, and another one."""
    try:
        return ast.dump(ast.parse(source)) != ast.dump(ast.parse(other))
    except SyntaxError:
        return False
