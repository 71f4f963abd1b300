"""Differences of two folders of .npy files: python tools/gpu/compare.py WANT GOT LIMIT; exits 1 above the limit.

With --cosine after it, the smallest cosine of two files in place of the largest difference; exits 1 below the limit.
Where the files are a detector's boxes, scores and labels: the share of boxes without their like in the other folder. Which of
two boxes of nearly one score hides the other is for roundings to decide, so that neither numbers nor order need agree."""

import pathlib
import sys

import numpy as np


def unmatched(want, got):
    """The larger share, of either side, without a box of its label that covers it by 9 tenths, at 0.02 of its score."""
    sides = [[np.load(folder / f"{name}.npy").astype("f8") for name in ("boxes", "scores", "labels")] for folder in (want, got)]
    (a, score_a, label_a), (b, score_b, label_b) = sides
    if len(a) == 0 or len(b) == 0 or not all(np.isfinite(part).all() for side in sides for part in side):
        return 1.0
    both = [np.minimum(a[:, None, k + 2], b[None, :, k + 2]) - np.maximum(a[:, None, k], b[None, :, k]) for k in (0, 1)]
    common = np.clip(both[0], 0, None) * np.clip(both[1], 0, None)
    area_a, area_b = ((v[:, 2] - v[:, 0]) * (v[:, 3] - v[:, 1]) for v in (a, b))
    covers = common >= 0.9 * (area_a[:, None] + area_b[None] - common)
    alike = covers & (label_a[:, None] == label_b[None]) & (np.abs(score_a[:, None] - score_b[None]) <= 0.02)
    return 1 - min(alike.any(1).mean(), alike.any(0).mean())


def main():
    want, got, limit = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
    cosine = "--cosine" in sys.argv
    worst, count = 1.0 if cosine else 0.0, 0
    if (want / "boxes.npy").exists():
        worst, count = unmatched(want, got), 1
    for file in [] if count else sorted(want.glob("*.npy")):
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
