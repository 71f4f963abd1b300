"""Differences of two folders of .npy files: python tools/gpu/compare.py WANT GOT LIMIT; exits 1 above the limit."""

import pathlib
import sys

import numpy as np


def main():
    want, got, limit = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
    worst, count = 0.0, 0
    for file in sorted(want.glob("*.npy")):
        a, b = np.load(file).astype("f8"), np.load(got / file.name).astype("f8")
        error = np.abs(a - b).max() / np.abs(a).max() if a.shape == b.shape else np.inf
        worst = max(worst, error if np.isfinite(error) else np.inf)
        count += 1
    print(f"{worst:.2e}")
    sys.exit(0 if count > 0 and worst <= limit else 1)


main()
