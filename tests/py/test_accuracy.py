"""A slice of bench/accuracy.py: what 8 and 16 bits cost networks with real weights."""
import pathlib
import sys

import pytest
from conftest import FIGURES
from digits_cnn import SEED

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import accuracy  # noqa: E402
from accuracy_tasks import Recognizer, Sentences  # noqa: E402

# A slice is small: of so few characters and pairs the whole measurement's bars would be luck.
TASKS = {"ppocr_rec": (lambda folder: Recognizer(folder, SEED, 40, ["/usr/share/fonts"], samples=16), {"int8": 0.03, "bf16": 0.02}),
         "minilm": (lambda folder: Sentences(folder, SEED, 90, samples=16), {"int8": 0.02, "bf16": 0.001})}


@pytest.mark.parametrize("name", TASKS)
def test_narrow_types_keep_real_networks_good(name, tmp_path):
    print(f"seed: WOOTZ_SEED={SEED}")
    make, bars = TASKS[name]
    task = make(tmp_path)
    exact = task.compute(accuracy.ours(task))
    base = task.score(exact, exact)
    assert base > 0.8, "the network does its work"
    narrow = {"int8": lambda: accuracy.ours(task, calibration_data=task.batches(task.samples)), "bf16": lambda: accuracy.in_bf16(task, tmp_path)}
    for precision, build in narrow.items():
        score = task.score(task.compute(build()), exact)
        FIGURES.append(f"{name}: {score:.4f} in {precision}, {base:.4f} in FP32 ({task.unit}, a slice)")
        assert score >= base - bars[precision]


def test_distances_of_texts_and_ranks():
    import accuracy_tasks
    import numpy as np

    assert [accuracy_tasks.edit_distance(a, b) for a, b in (("", "abc"), ("kitten", "sitting"), ("same", "same"))] == [3, 3, 0]
    np.testing.assert_array_equal(accuracy_tasks.ranks(np.array([3.0, 1.0, 2.0])), [2, 0, 1])
    rows = [{"task": f"digits_{i}", "precision": "int8", "how": "minmax", "score": s, "below": 0.9 - s, "bar": 0.003} for i, s in enumerate((0.8, 0.9))]
    (row,) = accuracy.together(rows)
    assert row["task"] == "digits" and row["score"] == pytest.approx(0.85) and accuracy.missed([row])
