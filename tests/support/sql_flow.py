"""Which expressions of the source are SQL and which are raw text: what statements are made of, followed back.

A value is ``SQL`` when it is a constant, a number, or annotated ``Sql`` (see ``core/sql_text.py``), or is put together
from such by an f-string, ``+``, ``%``, ``format`` or ``join``. Everything else is ``RAW``. Annotations are believed
where a value is used, and checked where one is made: at each ``return``, argument, field and default. So every way from
raw text into a statement crosses a place that is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import takewhile
from pathlib import Path

from tests.support.sql_kinds import (
    LOOP,
    RAW,
    SQL,
    Func,
    Map,
    Obj,
    Seq,
    Tup,
    annotated,
    fits,
    item_of,
    joined,
    part_of,
    required,
)  # fmt: skip

MADE_OF_NUMBERS = {"len", "int", "sum", "abs", "bool", "ord", "isinstance", "any", "all"}
AS_GIVEN = {"list", "sorted", "set", "reversed", "frozenset", "iter", "filter"}
NUMBER_METHODS = {"index", "count", "bit_length", "from_bytes", "n_rows", "toordinal"}
COLUMN_METHODS = {"isin", "isNotNull", "isNull", "alias", "cast", "eqNullSafe", "when", "otherwise"}
SINKS = {  # what Spark and the servers take as SQL: name of the method -> from which argument to which
    "sql": (0, 1), "where": (0, 1), "filter": (0, 1), "expr": (0, 1), "selectExpr": (0, None), "table": (0, 1),
    "col": (0, 1), "query": (0, 1), "execute": (0, 1), "createDataFrame": (1, 2), "mapInArrow": (1, 2),
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """A file of the source. imports: local name -> (module, name) of ours."""

    name: str
    tree: ast.Module
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)


@dataclass
class Scope:
    """Names that a function or a comprehension binds -> the kinds of what they are bound to, found when asked for."""

    module: Module
    outer: Scope | None = None
    owner: str | None = None
    bound: dict[str, list] = field(default_factory=dict)

    def bind(self, target: ast.expr, kind) -> None:
        """kind: a function without arguments."""
        match target:
            case ast.Name(id=name):
                self.bound.setdefault(name, []).append(kind)
            case ast.Starred(value=value):
                self.bind(value, lambda: Seq(item_of(kind())))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for i, part in enumerate(parts):
                    self.bind(part, lambda i=i: part_of(kind(), i))


DATA_FRAME = Obj("DataFrame")


class Flow:
    """The source as a whole. fields: attribute -> kinds that classes promise for it."""

    def __init__(self, sources: dict[str, str]):
        """sources: module name, without ``mirrorlake``, -> text."""
        self.modules = {name: _module(name, text) for name, text in sources.items()}
        _expand_aliases([module.tree for module in self.modules.values()])
        self.fields: dict[str, list] = {}
        self.methods: dict[str, list[tuple[Module, Function]]] = {}
        self.own: dict[tuple[str, str], list] = {}
        self.required: dict[str | tuple[str, str], list] = {}
        self.own_methods: dict[tuple[str, str], Function] = {}
        self._busy: set[int] = set()
        self._loops, self._known, self._scopes = 0, dict[int, object](), dict[int, Scope]()
        for module in self.modules.values():
            for owner in (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)):
                self._learn(module, owner)

    def _learn(self, module: Module, owner: ast.ClassDef) -> None:
        for node in owner.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._learn_field(owner.name, node.target.id, lambda n=node: annotated(n.annotation))
                for name in (node.target.id, (owner.name, node.target.id)):
                    self.required.setdefault(name, []).append(required(node.annotation))
            if isinstance(node, Function):
                if any(
                    isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in node.decorator_list
                ):
                    self._learn_field(owner.name, node.name, lambda n=node: annotated(n.returns))
                else:
                    self.methods.setdefault(node.name, []).append((module, node))
                    self.own_methods[owner.name, node.name] = node
                self._learn_own(module, owner.name, node)

    def _learn_field(self, owner: str, name: str, kind) -> None:
        self.fields.setdefault(name, []).append(kind)
        self.own.setdefault((owner, name), []).append(kind)

    def _learn_own(self, module: Module, owner: str, method: Function) -> None:
        scope = self.scope_of(method, Scope(module, None, owner))
        for node in ast.walk(method):
            pairs = []
            if isinstance(node, ast.AnnAssign):
                pairs = [(node.target, lambda n=node: annotated(n.annotation))]
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    many = len(parts) > 1
                    pairs += [
                        (part, lambda i=i, n=node, many=many: self._part(n.value, i, many, scope))
                        for i, part in enumerate(parts)
                    ]
            for target, kind in pairs:
                if (
                    isinstance(target, ast.Attribute)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == "self"
                ):
                    self._learn_field(owner, target.attr, kind)

    def _part(self, value: ast.expr, i: int, many: bool, scope: Scope) -> object:
        kind = self.kind(value, scope)
        return part_of(kind, i) if many else kind

    def scope_of(self, function: Function | ast.Lambda, outer: Scope) -> Scope:
        if id(function) in self._scopes:
            return self._scopes[id(function)]
        scope = self._scopes[id(function)] = Scope(outer.module, outer, outer.owner)
        args = function.args
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
            is_self = arg.arg == "self" and arg.annotation is None and outer.owner
            scope.bind(ast.Name(arg.arg), lambda a=arg, i=is_self: Obj(i) if i else annotated(a.annotation))
        if args.vararg:
            scope.bind(ast.Name(args.vararg.arg), lambda: Seq(annotated(args.vararg.annotation)))
        if not isinstance(function, ast.Lambda):
            self.bind_all(function.body, scope)
        return scope

    def bind_all(self, body: list[ast.stmt], scope: Scope) -> None:
        for node in _own_nodes(body):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        scope.bind(target, lambda v=value: self.kind(v, scope))
                case ast.AnnAssign(target=target, annotation=note):
                    scope.bind(target, lambda n=note: annotated(n))
                case ast.AugAssign(target=target, value=value):
                    scope.bind(target, lambda v=value: self.kind(v, scope))
                case ast.NamedExpr(target=target, value=value):
                    scope.bind(target, lambda v=value: self.kind(v, scope))
                case ast.For(target=target, iter=it):
                    scope.bind(target, lambda v=it: item_of(self.kind(v, scope)))
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                    scope.bind(target, lambda v=value: self.kind(v, scope))
                case ast.MatchClass(cls=ast.Name(id=name)):
                    self._bind_match(node, name, scope)
                case ast.FunctionDef(name=name, returns=returns):
                    scope.bind(ast.Name(name), lambda r=returns: Func((), annotated(r)))

    def _bind_match(self, node: ast.MatchClass, name: str, scope: Scope) -> None:
        known = self.class_named(name, scope.module)
        if known is None:
            return
        notes = fields_of(known)
        pairs = [*zip(notes.values(), node.patterns, strict=False)]
        pairs += [(notes.get(attr), pattern) for attr, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True)]
        for note, pattern in pairs:
            if isinstance(pattern, ast.MatchAs) and pattern.name:
                scope.bind(ast.Name(pattern.name), lambda n=note: annotated(n))

    # --- what an expression is

    def kind(self, node: ast.expr | None, scope: Scope) -> object:
        if id(node) in self._known:
            return self._known[id(node)]
        if id(node) in self._busy:
            self._loops += 1
            return LOOP
        self._busy.add(id(node))
        loops = self._loops
        found = self._kind(node, scope)
        self._busy.discard(id(node))
        if loops == self._loops or not self._busy:
            self._known[id(node)] = found
        return found

    def _kind(self, node: ast.expr | None, scope: Scope) -> object:
        match node:
            case None | ast.Constant() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return SQL
            case ast.JoinedStr(values=values):
                holes = [self.kind(v.value, scope) for v in values if isinstance(v, ast.FormattedValue)]
                return SQL if self._is_all_sql(*holes) else RAW
            case ast.UnaryOp(operand=operand):
                return self.kind(operand, scope)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return SQL if self._is_all_sql(self.kind(left, scope), self.kind(right, scope)) else RAW
            case ast.BinOp(left=left, right=right):
                return joined(self.kind(left, scope), self.kind(right, scope))
            case ast.BoolOp(op=ast.And(), values=values):  # or what is empty
                return self.kind(values[-1], scope)
            case ast.BoolOp(values=values):
                return reduce(joined, (self.kind(value, scope) for value in values))
            case ast.IfExp(body=body, orelse=orelse):
                return joined(self.kind(body, scope), self.kind(orelse, scope))
            case ast.NamedExpr(value=value):
                return self.kind(value, scope)
            case ast.Starred(value=value):
                return item_of(self.kind(value, scope))
            case ast.Tuple(elts=[]):
                return SQL
            case ast.Tuple(elts=parts) if not any(isinstance(part, ast.Starred) for part in parts):
                return Tup(tuple(self.kind(part, scope) for part in parts))
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return Seq(reduce(joined, [self.kind(part, scope) for part in parts], SQL) if parts else SQL)
            case ast.Dict(keys=keys, values=values):
                merged = [self.kind(v, scope) for k, v in zip(keys, values, strict=True) if k is None]
                own = Map(*(reduce(joined, [self.kind(n, scope) for n in ns], SQL) for ns in self._pairs(node)))
                return reduce(joined, merged, own)
            case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
                return Seq(self.kind(elt, self.inner(node, scope)))
            case ast.DictComp(key=key, value=value):
                inner = self.inner(node, scope)
                return Map(self.kind(key, inner), self.kind(value, inner))
            case ast.Lambda(body=body):
                return Func((), self.kind(body, self.scope_of(node, scope)))
            case ast.Subscript(value=value, slice=index):
                return self._subscript(self.kind(value, scope), index)
            case ast.Name(id=name):
                return self._name(name, scope)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if self.imported(name, scope.module):
                return self._global(attr, self.modules[self.imported(name, scope.module)])
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(attr, self.kind(value, scope))
            case ast.Call():
                return self._call(node, scope)
        return RAW

    def _pairs(self, node: ast.Dict) -> tuple[list, list]:
        found = [(k, v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        return [k for k, _ in found], [v for _, v in found]

    def inner(self, node, scope: Scope) -> Scope:
        """Within a comprehension."""
        inner = Scope(scope.module, scope, scope.owner)
        for part in node.generators:
            inner.bind(part.target, lambda p=part: item_of(self.kind(p.iter, inner)))
        return inner

    def _subscript(self, kind: object, index: ast.expr) -> object:
        if isinstance(index, ast.Slice):
            return kind if isinstance(kind, Seq | Tup) else RAW
        if isinstance(kind, Map):
            return kind.value
        if isinstance(kind, Tup) and isinstance(index, ast.Constant) and isinstance(index.value, int):
            return kind.items[index.value]
        return item_of(kind)

    def _name(self, name: str, scope: Scope) -> object:
        at: Scope | None = scope
        while at is not None:
            if name in at.bound:
                return reduce(joined, (kind() for kind in at.bound[name]))
            at = at.outer
        return self._global(name, scope.module)

    def _global(self, name: str, module: Module) -> object:
        if name in module.imports:
            where, original = module.imports[name]
            return self._global(original, self.modules[where]) if where in self.modules else RAW
        if name in module.functions:
            return Func(takes_of(module.functions[name]), annotated(module.functions[name].returns))
        if name in module.classes:
            return Func((), Obj(name))
        scope = self._top(module)
        return reduce(joined, (kind() for kind in scope.bound[name])) if name in scope.bound else RAW

    def _top(self, module: Module) -> Scope:
        if id(module) not in self._scopes:
            scope = self._scopes[id(module)] = Scope(module)
            self.bind_all(module.tree.body, scope)
        return self._scopes[id(module)]

    def _attribute(self, attr: str, of: object = RAW) -> object:
        found = self.own.get((of.name, attr)) if isinstance(of, Obj) else None
        if isinstance(of, Obj) and (of.name, attr) in self.own_methods:
            method = self.own_methods[of.name, attr]
            return Func(takes_of(method)[1:], annotated(method.returns))
        if of == DATA_FRAME and attr == "schema":
            return SQL
        kinds = [kind() for kind in found or self.fields.get(attr, ())]
        return reduce(joined, kinds) if kinds else RAW

    def _call(self, node: ast.Call, scope: Scope) -> object:
        args = [self.kind(arg, scope) for arg in node.args]
        match node.func:
            case ast.Name(id=name) if self._name(name, scope) == RAW or name in ("str", "map"):
                return self._builtin(name, node, args, scope)
            case ast.Name(id=name):
                found = self._name(name, scope)
                return found.gives if isinstance(found, Func) else RAW
            case ast.Attribute(
                value=ast.Name(id="F" | "pc")
            ):  # a column; what F.expr and F.col take is looked at there
                return SQL
            case ast.Attribute(attr=attr) if attr in COLUMN_METHODS or attr in NUMBER_METHODS:
                return SQL
            case ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"):
                return Map(item_of(args[0]), args[1] if len(args) > 1 else SQL)
            case ast.Attribute(value=value, attr=attr):
                return self._method(self.kind(value, scope), attr, args, node, scope)
        found = self.kind(node.func, scope)
        return found.gives if isinstance(found, Func) else RAW

    def _builtin(self, name: str, node: ast.Call, args: list, scope: Scope) -> object:
        if name in MADE_OF_NUMBERS:
            return SQL
        if name == "range":
            return Seq(SQL)
        if name == "dict" and args:
            pairs = item_of(args[0])
            return Map(part_of(pairs, 0), part_of(pairs, 1))
        if name == "str":
            return args[0] if args else SQL
        if name == "tuple" or name in AS_GIVEN:
            return Seq(item_of(args[-1])) if args else Seq(SQL)
        if name == "next":
            return reduce(joined, [item_of(args[0]), *args[1:]])
        if name == "enumerate":
            return Seq(Tup((SQL, item_of(args[0]))))
        if name == "zip":
            return Seq(Tup(tuple(map(item_of, args))))
        if name in ("min", "max"):
            return reduce(joined, args) if len(args) > 1 else item_of(args[0])
        if name == "map":
            given, over = node.args[0], [item_of(arg) for arg in args[1:]]
            if isinstance(given, ast.Name) and given.id in ("str", "int"):
                return Seq(SQL if given.id == "int" else over[0])
            return Seq(args[0].gives) if isinstance(args[0], Func) else Seq(RAW)
        return RAW

    def _method(self, of: object, attr: str, args: list, node: ast.Call, scope: Scope) -> object:
        match of, attr:
            case "LOOP", _:
                return LOOP
            case "SQL", "strip" | "rstrip" | "lstrip":
                return SQL
            case "SQL", "join":
                return SQL if item_of(args[0]) in (SQL, LOOP) else RAW
            case "SQL", "format":
                return SQL if self._is_all_sql(*args, *(self.kind(k.value, scope) for k in node.keywords)) else RAW
            case Map(key, value), "items":
                return Seq(Tup((key, value)))
            case Map(_, value), "values":
                return Seq(value)
            case Map(key, _), "keys":
                return Seq(key)
            case Map(_, value), "get":
                return joined(value, args[1]) if len(args) > 1 else value
        own = self.own_methods.get((of.name, attr)) if isinstance(of, Obj) else None
        if of in (DATA_FRAME, Obj("SparkSession")):
            return DATA_FRAME
        if own or attr in self.methods:
            known = [own] if own else [function for _, function in self.methods[attr]]
            return reduce(joined, (annotated(function.returns) for function in known))
        found = self._attribute(attr, of)
        return found.gives if isinstance(found, Func) else RAW

    def _is_all_sql(self, *kinds: object) -> bool:
        return all(kind in (SQL, LOOP) or isinstance(kind, Tup) and self._is_all_sql(*kind.items) for kind in kinds)

    def imported(self, name: str, module: Module) -> str:
        """The module of ours that a name means, or nothing."""
        whole = ".".join(module.imports.get(name, ()))
        return whole if whole in self.modules else ""

    def class_named(self, name: str, module: Module) -> ast.ClassDef | None:
        if name in module.imports:
            where, original = module.imports[name]
            return self.class_named(original, self.modules[where]) if where in self.modules else None
        return module.classes.get(name)

    # --- where raw text gets into SQL

    def offences(self) -> Iterator[str]:
        """``module:line: expression`` of each."""
        for module in self.modules.values():
            if module.name.startswith("core."):  # quoting itself, and what never talks to Spark or a server
                continue
            yield from self._inside(module.tree.body, self._top(module), SQL)

    def _inside(self, body: list, scope: Scope, returns: object) -> Iterator[str]:
        for node in body:
            yield from self._visit(node, scope, returns)

    def _visit(self, node: ast.AST, scope: Scope, returns: object) -> Iterator[str]:
        match node:
            case ast.ClassDef(name=name):
                yield from self._inside(node.body, Scope(scope.module, scope, name), RAW)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._inside([*node.args.defaults, *filter(None, node.args.kw_defaults)], scope, RAW)
                yield from self._inside(node.body, self.scope_of(node, scope), required(node.returns))
                return
            case ast.Lambda():
                yield from self._visit(node.body, self.scope_of(node, scope), RAW)
                return
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                scope = self.inner(node, scope)
            case ast.Return(value=ast.expr() as value):
                yield from self._wrong(value, returns, scope)
            case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                yield from self._wrong(value, item_of(returns) if returns != RAW else RAW, scope)
            case ast.AnnAssign(annotation=note, value=ast.expr() as value):
                yield from self._wrong(value, required(note), scope)
            case ast.Call():
                yield from self._arguments(node, scope)
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child, scope, returns)

    def _arguments(self, node: ast.Call, scope: Scope) -> Iterator[str]:
        for value, wanted in self._wanted(node, scope):
            yield from self._wrong(value, wanted, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in SINKS and not _is_arrow(node.func):
            first, last = SINKS[node.func.attr]
            for value in node.args[first:last]:
                yield from self._wrong(value, SQL, scope)

    def _wanted(self, node: ast.Call, scope: Scope) -> Iterator[tuple[ast.expr, object]]:
        """Each argument with the kind that the callee's annotation promises for it."""
        notes: list[dict[str, ast.expr | None]] = []
        match node.func:
            case ast.Name(id="replace"):
                of = self.kind(node.args[0], scope)
                for keyword in node.keywords:
                    own = self.required.get((of.name, keyword.arg)) if isinstance(of, Obj) else None
                    yield keyword.value, next((k for k in own or self.required.get(keyword.arg, ()) if k != RAW), RAW)
                return
            case ast.Name(id=name):
                of = self._function(name, scope.module)
                if of is not None:
                    notes = [parameters(of)]
                elif known := self.class_named(name, scope.module):
                    notes = [fields_of(known) or self._init(known)]
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if where := self.imported(name, scope.module):
                of = self.modules[where].functions.get(attr)
                notes = [parameters(of)] if of else []
            case ast.Attribute(value=value, attr=attr):
                of = self.kind(value, scope)
                own = self.own_methods.get((of.name, attr)) if isinstance(of, Obj) else None
                known = [own] if own else [function for _, function in self.methods.get(attr, ())]
                notes = [dict(list(parameters(f).items())[0 if _is_static(f) else 1 :]) for f in known]
        if not notes and isinstance(found := self.kind(node.func, scope), Func):
            yield from zip(node.args, found.takes, strict=False)
        for names in notes:
            plain = list(takewhile(lambda arg: not isinstance(arg, ast.Starred), node.args))
            yield from ((arg, required(note)) for arg, note in zip(plain, names.values(), strict=False))
            rest = [*names.values()][len(plain) :]
            yield from ((arg, SQL) for arg in node.args[len(plain) :] if SQL in map(required, rest))
            yield from ((k.value, required(names[k.arg])) for k in node.keywords if k.arg in names)

    def _function(self, name: str, module: Module) -> Function | None:
        if name in module.imports:
            where, original = module.imports[name]
            return self._function(original, self.modules[where]) if where in self.modules else None
        return module.functions.get(name)

    def _init(self, owner: ast.ClassDef) -> dict[str, ast.expr | None]:
        made = next((n for n in owner.body if isinstance(n, Function) and n.name == "__init__"), None)
        return dict(list(parameters(made).items())[1:]) if made else {}

    def _wrong(self, value: ast.expr, wanted: object, scope: Scope) -> Iterator[str]:
        if not fits(wanted, self.kind(value, scope)):
            yield f"{scope.module.name}:{value.lineno}: {ast.unparse(value)[:110]}"


def parameters(function: Function) -> dict[str, ast.expr | None]:
    args = function.args
    return {arg.arg: arg.annotation for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]}


def takes_of(function: Function) -> tuple:
    return tuple(map(required, parameters(function).values()))


def fields_of(owner: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        n.target.id: n.annotation for n in owner.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }


def _is_arrow(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "pa"


def _is_static(function: Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)


def _own_nodes(body: list) -> Iterator[ast.AST]:
    """Without what is inside functions, classes and comprehensions of their own."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _module(name: str, text: str) -> Module:
    module = Module(name, ast.parse(text))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mirrorlake."):
            where = node.module.removeprefix("mirrorlake.")
            module.imports |= {a.asname or a.name: (where, a.name) for a in node.names}
    module.functions = {n.name: n for n in module.tree.body if isinstance(n, Function)}
    module.classes = {n.name: n for n in module.tree.body if isinstance(n, ast.ClassDef)}
    return module


def source_of(root: Path) -> dict[str, str]:
    """root: the package's folder."""
    files = sorted(root.rglob("*.py"))
    return {".".join(file.relative_to(root).with_suffix("").parts): file.read_text(encoding="utf-8") for file in files}


def _expand_aliases(trees: list[ast.Module]) -> None:
    """In annotations: the type instead of a name such as ``Ask = Callable[[Sql], list[tuple]]``."""
    known = {}
    for node in (node for tree in trees for node in tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=kind)) as meant):
                known |= {name: meant} if kind in ("Callable", "tuple", "list", "dict", "Mapping") else {}

    class Expand(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return known.get(node.id, node)

    for node in (node for tree in trees for node in ast.walk(tree)):
        for part in ("annotation", "returns"):
            if isinstance(note := getattr(node, part, None), ast.expr):
                setattr(node, part, Expand().visit(note))
