"""The code of a page: from its source, where blocks are fenced, or from a copy that has lost its indentation."""

import re

# How a line of code begins on the page, where it does not follow another.
START = re.compile(r"^(@task|@metric|@scorer|@score_reducer|Task\(|import |from \w+|metrics=\[|grouped\()")
# Where code ends and prose follows on the same line, as it does where a page puts a block between two sentences.
END = re.compile(r"^(\)|.*[\])]|return (?:metric|reduce|score))(?=[A-Z][a-z]+[ -])")


FENCED = re.compile(r"^``` ?python\n(.*?)^```$", re.M | re.S)


def blocks(text):
    """The blocks of code on a page, each with its indentation."""
    fenced = [block[1] for block in FENCED.finditer(text)]
    if fenced:
        return fenced
    found, block = [], []
    for line in text.splitlines():
        if not block and not START.match(line):
            continue
        end = END.match(line)
        block.append(end[0] if end else line)
        if end:
            found.append(indented(block))
            block = []
    if block:
        found.append(indented(block))
    return found


def indented(lines):
    """Lines with the indentation that their brackets, colons and returns ask for."""
    out, depth, functions, is_text, single = [], 0, [], False, None
    for line in lines:
        text = line.strip()
        if depth == 0 and not is_text:
            if text.startswith("@") or re.match(r"(import|from) ", text):
                functions, single = [], None
            named = re.fullmatch(r"return (\w+)", text)
            if named and named[1] in functions:
                # A function returns the one that it has just defined: that one is over.
                functions = functions[: functions.index(named[1])]
        closes = len(re.match(r"[)\]}]*", text)[0])
        level = len(functions) + (1 if single else 0) + max(depth - closes, 0)
        out.append("    " * level + text)
        if text.count('"""') == 1:
            is_text = not is_text
        if is_text or text.startswith('"""'):
            continue
        plain = re.sub(r'"[^"]*"|#.*', "", text)
        depth += sum(plain.count(open) for open in "([{") - sum(plain.count(close) for close in ")]}")
        if depth > 0:
            continue
        single = None
        defined = re.match(r"(?:async )?def (\w+)", text)
        if defined and text.endswith(":"):
            functions.append(defined[1])
        elif text.endswith(":"):
            single = True  # On the page, the body of an `if` is one line.
    return "\n".join(out) + "\n"
