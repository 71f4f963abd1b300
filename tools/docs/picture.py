#!/usr/bin/env python3
"""Makes docs/report.png, the picture at the head of README.md: the report's page of a text detector's build, as a browser shows it.

    tools/docs/picture.py

Needs what `./dev setup` installs (chromium, rapidocr-onnxruntime, pillow) and a build of the command. Times in it are of this machine.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release"))
SIZE = (1500, 900)
SHAPE = "x:1x3x480x640"


def main():
    models = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0]) / "models"
    with tempfile.TemporaryDirectory() as folder:
        page, picture = pathlib.Path(folder, "report.html"), pathlib.Path(folder, "report.png")
        subprocess.run([BUILD / "bin/wootz", "build", models / "ch_PP-OCRv4_det_infer.onnx", "-o", f"{folder}/plan", "--report", page, "--shapes", SHAPE],
                       check=True)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                        f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000",
                        f"--screenshot={picture}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)
        few = Image.open(picture).convert("RGB").quantize(256)
        few.save(ROOT / "docs/report.png", optimize=True)
    print(f"wrote docs/report.png, {(ROOT / 'docs/report.png').stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
