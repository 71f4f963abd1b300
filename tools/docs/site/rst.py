"""Comments and docstrings as reStructuredText."""
import re

_CLASS = re.compile(r"(?<![\w:`])((?:nvinfer1::|nvonnxparser::)?I[A-Z][a-z]\w+(?:::\w+)?)(\(\))?")


def inline(text, link=None):
    """Prose in which names stand in single backticks. `link` is the role that names of interfaces get, and after a space their namespace."""
    role, _, space = (link or "").partition(" ")
    parts = re.split(r"(`[^`\n]+`)", text)
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = f"``{part[1:-1]}``"
            continue
        plain = re.sub(r"([\\*|`]|_(?!\w))", r"\\\1", part)
        parts[index] = _CLASS.sub(lambda found: f":{role}:`{found[1]} <{space}::{found[1]}>`" if space else f":{role}:`{found[1]}`", plain) if link else plain
    for index in range(1, len(parts), 2):  # literals end where a space or a mark of punctuation follows
        if parts[index + 1][:1].isalnum():
            parts[index + 1] = "\\ " + parts[index + 1]
        if parts[index - 1][-1:].isalnum():
            parts[index - 1] += "\\ "
    return re.sub(r"^([-+•]|\d+\.|>>>|\.\.)(?= )", r"\\\1", "".join(parts))


def block(lines, indent="", link=None):
    """Paragraphs; what is indented, a list of keys or code, stays as it is."""
    result, paragraph, literal = [], [], []

    def flush():
        if paragraph:
            result.extend([indent + inline(" ".join(paragraph), link), ""])
        if literal:
            result.extend([indent + "::", "", *(indent + "   " + line if line else "" for line in _dedent(literal)), ""])
        paragraph.clear()
        literal.clear()

    for line in lines:
        is_literal = line.startswith("  ")
        if (is_literal and paragraph) or (literal and line and not is_literal) or (not line and not literal):
            flush()
        if is_literal or (literal and not line):
            literal.append(line.rstrip())
        elif line:
            paragraph.append(line.strip())
    flush()
    return result


def _dedent(lines):
    while lines and not lines[-1]:
        lines.pop()
    least = min(len(line) - len(line.lstrip()) for line in lines if line)
    return [line[least:] for line in lines]


def title(text, mark="="):
    text = re.sub(r"([\\*|`]|_(?!\w))", r"\\\1", text)
    return [text, mark * max(len(text), 3), ""]


def directive(name, signatures, options, indent=""):
    """A directive with a signature a line."""
    head = f"{indent}.. {name}:: "
    lines = [head + signatures[0], *(" " * len(head) + each for each in signatures[1:])]
    return [*lines, *(f"{indent}   :{option}" for option in options), ""]
