"""Differences of two folders of .npy files: python tools/gpu/compare.py WANT GOT LIMIT; exits 1 above the limit.

With --cosine behind it, the smallest cosine of two files in place of the largest difference; exits 1 below the limit."""

import pathlib
import sys

import numpy as np


def main():
    want, got, limit = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
    cosine = "--cosine" in sys.argv
    worst, count = 1.0 if cosine else 0.0, 0
    for file in sorted(want.glob("*.npy")):
        a, b = np.load(file).astype("f8"), np.load(got / file.name).astype("f8")
        if cosine:
            angle = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()) if a.shape == b.shape else np.nan
            worst = min(worst, angle if np.isfinite(angle) else -1.0)
            count += 1
            continue
        error = np.abs(a - b).max() / np.abs(a).max() if a.shape == b.shape else np.inf
        worst = max(worst, error if np.isfinite(error) else np.inf)
        count += 1
    print(f"{worst:.5f}" if cosine else f"{worst:.2e}")
    sys.exit(0 if count > 0 and (worst >= limit if cosine else worst <= limit) else 1)


main()
