"""# From TensorRT to Wootz

A script that was written for TensorRT runs as it is. `python -m wootz.alias` puts a package named `tensorrt` beside the others, at level 10.16 or 11.1 of
the API; CUDA's runtime, where there is no GPU, is `libwootz_hostcuda` ([CUDA programs without a GPU](../../docs/hostcuda.md)).

The script here is [classifier.py](../python/classifier.py) of the other examples: it parses ONNX, builds a plan, writes it to a file, loads it, copies to
the device, and runs on a stream, in the words of TensorRT's package and of cuda-python alone. This program gives it an alias in a folder of its own, runs it at both levels, and
changes nothing: that the word "wootz" is not in the script is checked, too.

**What to look at:** the script on the left, and on the right what it prints at each level.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import common
import wootz
from wootz import alias

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "python/classifier.py"


def cuda_runtime():
    """CUDA's runtime for processors: in an installed package, or in a build folder beside the package."""
    package = pathlib.Path(wootz.__file__).resolve().parent
    places = [package / "lib/wootz-hostcuda/libwootz_hostcuda.so", package.parents[1] / "lib/hostcuda/libcudart.so.13"]
    found = [place for place in places if place.exists()]
    common.expect(found, f"libwootz_hostcuda is one of {[str(place) for place in places]}")
    return found[0]


def run(level, scratch, chosen):
    """What the script prints with `import tensorrt` at this level."""
    folder = alias.install(level, pathlib.Path(scratch) / str(level))
    paths = [str(folder), str(pathlib.Path(wootz.__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(scratch), "WOOTZ_BACKEND": chosen.backend}
    if chosen.backend == "cpu":
        env["CUDART_LIBRARY"] = str(cuda_runtime())
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=env, cwd=scratch)
    common.expect(done.returncode == 0 and "right" in done.stdout, f"the script runs at level {level}: {done.stdout}{done.stderr}")
    return done.stdout.rstrip().splitlines()


def main():
    chosen = common.arguments()
    source = SCRIPT.read_text()
    common.expect("wootz" not in source.lower() and "import tensorrt" in source, "the script knows TensorRT alone")
    with tempfile.TemporaryDirectory() as scratch:
        for level in (10, 11):
            (pathlib.Path(scratch) / str(level)).mkdir()
        printed = {level: run(level, scratch, chosen) for level in (10, 11)}
    lines = source.rstrip().splitlines()
    page = common.Picture(1280, 60 + 17 * len(lines) + 20)
    page.text(24, 32, f"{SCRIPT.name}, as it is", "title")
    for i, line in enumerate(lines):
        page.text(24, 60 + 17 * i, line, "code")
    y = 32
    for level, output in printed.items():
        print(f"level {level}: " + "; ".join(output))
        page.text(940, y, f"printed at level {level}", "title")
        for i, line in enumerate(output):
            page.text(940, y + 26 + 17 * i, line, "code")
        y += 26 + 17 * len(output) + 34
    page.save(chosen.out / "from_tensorrt.svg")


if __name__ == "__main__":
    main()
