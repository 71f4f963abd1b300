"""Run by the build: the types of the extension as _wootz.pyi, by nanobind's stub generator, which imports the package.

    python_stubs.py FOLDER_WITH_PACKAGE PATTERNS OUTPUT
"""
import pathlib
import re
import sys

import nanobind.stubgen


def parameters(text):
    """The parameters between the brackets of a signature."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def with_defaults(match):
    """Python wants a default behind every parameter with one; C++'s functions, and TensorRT's, may say otherwise."""
    seen, result = False, []
    for part in parameters(match[2]):
        plain = part in ("", "/") or part.startswith("*")
        if seen and not plain and " = " not in part:
            part += " = ..."
        seen = (seen or " = " in part) and not part.startswith("*")
        result.append(part)
    return f"{match[1]}{', '.join(result)}{match[3]}"


def mended(text):
    """As Python takes it: the generator writes the names of classes inside of classes as if they were not, and C++'s names of those that
    have none in Python, and takes getters that are objects for static ones. IActivationLayer.type and the like are other than ILayer.type: TensorRT has them so."""
    text = re.sub(r"(: |= )Severity\b", r"\1ILogger.Severity", text)
    text = re.sub(r'"\w+(::\w+)+"', "object", text)
    text = re.sub(r"(@property|@\w+\.setter)\n *@staticmethod\n( *def \w+\(self): \w+", r"\1\n\2", text)
    text = re.sub(r"^( *def \w+\()(.*)(\) -> .*)$", with_defaults, text, flags=re.M)
    return '# mypy: disable-error-code="override"\n' + text


if __name__ == "__main__":
    folder, patterns, output = sys.argv[1:]
    nanobind.stubgen.main(["-q", "-P", "-i", folder, "-p", patterns, "-m", "wootz._wootz", "-o", output])
    path = pathlib.Path(output)
    path.write_text(mended(path.read_text()))
