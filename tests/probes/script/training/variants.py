"""The same program written differently: split, merged, renamed, in another order.

Each change works on lines and takes the marks at their ends along, so that the marks of the
variant say where its findings have to be.
"""

import ast
import builtins
import io
import random
import tokenize


def variant(files, seed):
    """A variant of a program with marks."""
    chance = random.Random(seed)
    changes = [split, merged, renamed, reordered, modules_renamed, padded, in_a_function]
    for change in chance.sample(changes, chance.randint(2, 5)):
        files = change(dict(files), chance)
    for text in files.values():
        ast.parse(text)
    return files


def _blocks(text):
    """The statements of a module with the lines that they take."""
    lines = text.splitlines()
    return [(node, lines[_first(node) - 1 : node.end_lineno]) for node in ast.parse(text).body]


def _first(node):
    """The line at which a statement begins, with what decorates it."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _text(blocks):
    return "".join("\n".join(lines) + "\n" for _, lines in blocks)


def _loaded(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node):
    """The names that a statement of a module binds."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def split(files, chance):
    """A function or class moves to a module of its own."""
    choices = []
    for name, text in files.items():
        blocks = _blocks(text)
        imports = [b for b in blocks if isinstance(b[0], (ast.Import, ast.ImportFrom))]
        others = set().union(*(_bound(node) for node, _ in blocks)) - set().union(
            *(_bound(node) for node, _ in imports), set()
        )
        for block in blocks:
            if not isinstance(block[0], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if not _loaded(block[0]) & (others - {block[0].name}):
                choices.append((name, block, imports))
    if not choices:
        return files
    name, block, imports = chance.choice(choices)
    module = f"part_{len(files)}"
    kept = [b for b in _blocks(files[name]) if b[0].lineno != block[0].lineno]
    line = (ast.parse(""), [f"from {module} import {block[0].name}"])
    files[name] = _text([line, *kept])
    files[f"{module}.py"] = _text([*imports, block])
    return files


def merged(files, chance):
    """A module becomes part of the only one that imports it."""
    for name in chance.sample(sorted(files), len(files)):
        module = name.removesuffix(".py")
        users = [(user, block) for user, text in files.items() for block in _blocks(text)
                 if isinstance(block[0], ast.ImportFrom) and block[0].module == module]  # fmt: skip
        if len(users) != 1 or any(alias.asname for alias in users[0][1][0].names):
            continue
        user, (line, _) = users[0]
        own, theirs = _blocks(files[name]), _blocks(files[user])
        used = {n.id for n in ast.walk(ast.parse(files[user])) if isinstance(n, ast.Name)
                and isinstance(n.ctx, ast.Store)}  # fmt: skip
        used |= {n.arg for n in ast.walk(ast.parse(files[user])) if isinstance(n, ast.arg)}
        bound = set().union(*(_bound(node) for node, _ in own))
        wanted = {alias.name for alias in line.names}
        clash = set().union(*(_bound(n) for n, _ in theirs if n.lineno != line.lineno)) - wanted
        imports = set().union(*(_bound(n) for n, _ in own
                                if isinstance(n, (ast.Import, ast.ImportFrom))), set())  # fmt: skip
        if (clash & (bound - imports)) or used & bound or _imports_differ(own, theirs):
            continue
        at = next(i for i, (node, _) in enumerate(theirs) if node.lineno == line.lineno)
        files[user] = _text([*theirs[:at], *own, *theirs[at + 1 :]])
        del files[name]
        return files
    return files


def _imports_differ(own, theirs):
    """Whether a name stands for two things in the two modules."""

    def meanings(blocks):
        return {
            (alias.asname or alias.name): (getattr(node, "module", ""), alias.name)
            for node, _ in blocks if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }  # fmt: skip

    one, other = meanings(own), meanings(theirs)
    return any(other.get(name, meaning) != meaning for name, meaning in one.items())


def renamed(files, chance):
    """Variables and functions get other names."""
    trees = [ast.parse(text) for text in files.values()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    names |= {n.name for tree in trees for n in tree.body if isinstance(n, ast.FunctionDef)}
    fixed = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    fixed |= {n.arg or "" for n in nodes if isinstance(n, ast.keyword)}
    fixed |= {"self", *dir(builtins)}
    fixed |= {n.id for j in nodes if isinstance(j, ast.JoinedStr)
              for n in ast.walk(j) if isinstance(n, ast.Name)}  # fmt: skip
    own = {name.removesuffix(".py") for name in files}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            outside = isinstance(node, ast.Import) or node.module not in own
            fixed |= {a.name.partition(".")[0] for a in node.names} if outside else set()
            fixed |= {a.asname for a in node.names if a.asname} | set(
                (getattr(node, "module", "") or "").split(".")
            )
        elif isinstance(node, ast.ClassDef):
            fixed |= {n.id for s in node.body for n in ast.walk(s)
                      if isinstance(n, ast.Name)
                      and not isinstance(s, ast.FunctionDef)}  # fmt: skip
    fixed |= {name for name in names if "accum" in name.lower()}  # what it counts, its name tells
    chosen = sorted(names - fixed)
    words = [f"{chance.choice('abcdefgh')}{number}_" for number in range(len(chosen))]
    return {name: _with_names(text, dict(zip(chosen, words, strict=True)))
            for name, text in files.items()}  # fmt: skip


def _with_names(text, names):
    lines = text.splitlines(keepends=True)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline)
              if t.type == tokenize.NAME and t.string in names]  # fmt: skip
    for token in reversed(tokens):
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:column] + names[token.string] + line[token.end[1] :]
    return "".join(lines)


def reordered(files, chance):
    """Definitions that follow each other change places; so do methods."""
    for name, text in files.items():
        blocks, result, run = _blocks(text), [], []
        for block in [*blocks, (None, [])]:
            if isinstance(block[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
                run.append(block)
                continue
            chance.shuffle(run)
            result += run
            run = []
            if isinstance(block[0], ast.ClassDef):
                block = (block[0], _methods(block, chance))
            result.append(block)
        files[name] = _text(result[:-1])
    return files


def _methods(block, chance):
    node, lines = block
    first = _first(node)
    methods = [m for m in node.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not methods or methods != node.body[-len(methods) :]:
        return lines
    head = lines[: _first(methods[0]) - first]
    parts = [lines[_first(m) - first : m.end_lineno - first + 1] for m in methods]
    chance.shuffle(parts)
    return [*head, *(line for part in parts for line in part)]


def modules_renamed(files, chance):
    """Modules get other names."""
    imported = {n.module for text in files.values() for n in ast.walk(ast.parse(text))
                if isinstance(n, ast.ImportFrom)}  # fmt: skip
    for name in sorted(files):
        module = name.removesuffix(".py")
        if module in imported and chance.random() < 0.7:
            other = f"m{chance.randint(10, 99)}_{len(module)}"
            if f"{other}.py" in files:
                continue
            files[f"{other}.py"] = files.pop(name)
            files = {k: v.replace(f"from {module} import", f"from {other} import")
                     for k, v in files.items()}  # fmt: skip
    return files


def padded(files, chance):
    """Lines and functions that do nothing of interest."""
    for name in files:
        if chance.random() < 0.7:
            files[name] = f'"""Module {name}."""\n\n\n' + files[name]
        if chance.random() < 0.5:
            files[name] += f"\n\ndef unused_{chance.randint(1, 99)}(value):\n    return value\n"
    return files


def in_a_function(files, chance):
    """Move what a module does at its top into a function that it calls."""
    for name in sorted(files):
        blocks = _blocks(files[name])
        kept = [b for b in blocks if isinstance(b[0], (
            ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef,
            ast.ClassDef))]  # fmt: skip
        moved = [b for b in blocks if b not in kept and not (
            isinstance(b[0], ast.Expr) and isinstance(b[0].value, ast.Constant))]  # fmt: skip
        bound = set().union(*(_bound(node) for node, _ in moved), set())
        needed = set().union(*(_loaded(n) for n, _ in kept), set()) | {
            a.name for text in files.values() for n in ast.walk(ast.parse(text))
            if isinstance(n, ast.ImportFrom) for a in n.names
        }  # fmt: skip
        if len(moved) < 3 or bound & needed:
            continue
        body = [f"    {line}" if line else line for _, lines in moved for line in lines]
        files[name] = _text(
            [*kept, (None, ["", "", "def everything():", *body, "", "", "everything()"])]
        )
        break
    return files
