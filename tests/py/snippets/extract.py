"""Writes the Python blocks of documents about TensorRT into this folder, as they stand there, for test_snippets.py to run.

    extract.py DOCUMENT...      each becomes files DOCUMENT_NUMBER.py; delete those that no test needs
"""
import pathlib
import re
import sys


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


for document in map(pathlib.Path, sys.argv[1:]):
    name = document.stem.split("_")[0]
    for number, code in enumerate(blocks(document.read_text(encoding="utf-8")), 1):
        (pathlib.Path(__file__).parent / f"{name}_{number:02}.py").write_text(code, encoding="utf-8")
