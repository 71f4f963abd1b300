"""Run by the build: the types of the extension as _wootz.pyi, by nanobind's stub generator, which imports the package.

    python_stubs.py FOLDER_WITH_PACKAGE PATTERNS OUTPUT
"""
import pathlib
import re
import sys

import nanobind.stubgen

folder, patterns, output = sys.argv[1:]
nanobind.stubgen.main(["-q", "-P", "-i", folder, "-p", patterns, "-m", "wootz._wootz", "-o", output])
# It writes the names of classes inside of classes as if they were not, and C++'s names of those that have none in Python.
# IActivationLayer.type and the like are other than ILayer.type: TensorRT has them so.
path = pathlib.Path(output)
text = re.sub(r"(: |= )Severity\b", r"\1ILogger.Severity", path.read_text())
text = re.sub(r'"\w+(::\w+)+"', "object", text)
path.write_text('# mypy: disable-error-code="override"\n' + text)
