"""The types that the package ships say what is there: mypy's stubtest compares them with the running package."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = """
import wootz as trt

logger = trt.Logger(trt.Logger.WARNING)
network: trt.INetworkDefinition
reveal_type(trt.ICudaEngine.num_io_tensors)
reveal_type(trt.DataType.HALF)
engine: trt.ICudaEngine
engine.no_such_member
trt.Logger("loud")
"""


def package_folder():
    import wootz
    return pathlib.Path(wootz.__file__).parents[1]


@pytest.mark.slow
def test_stubs_agree_with_the_package():
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", "--ignore-disjoint-bases", "--mypy-config-file", str(HERE / "stubtest.ini"),
               "wootz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(package_folder())})
    said = done.stdout.splitlines()
    assert done.returncode in (0, 1) and said and "not checking stubs" not in done.stdout, done.stdout + done.stderr
    allowed = [re.compile(line) for line in (HERE / "stubtest_allowed.txt").read_text().splitlines() if line and line[0] != "#"]
    found = [line for line in said if not any(each.fullmatch(line) for each in allowed)]
    assert not found, "\n".join(found)


def test_a_program_is_checked_by_them(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), "program.py"],
                          capture_output=True, text=True, timeout=300, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(package_folder())})
    assert '"ICudaEngine" has no attribute "no_such_member"' in done.stdout, done.stdout
    assert 'Argument 1 to "Logger" has incompatible type "str"' in done.stdout, done.stdout
    assert "DataType.HALF" in done.stdout and done.stdout.count("error:") == 2, done.stdout
