"""docs/precision.md, of the results of bench/precision.py and bench/accuracy.py. bench/summary.py writes it."""

# Typical figures that are given for TensorRT on an A100, batch 1: ms in FP32 (PyTorch; EfficientNet-B4 in TensorFlow), in FP16, and in INT8.
PUBLISHED = {"resnet50": (7.2, 2.1, 1.3), "bert_base": (12.4, 3.8, 2.2), "yolov5s": (15.3, 4.2, 2.8), "efficientnet_b4": (18.6, 5.1, 3.2)}
KINDS = {"fp32": "FP32", "fp16": "FP16", "bf16": "BF16", "int8": "INT8"}


def gains(content):
    """The rows of a run of bench/precision.py; empty for other files."""
    return [row for row in content["rows"] if isinstance(row, dict) and "gain" in row and "agreement" in row]


def accuracies(content):
    return [row for row in content["rows"] if isinstance(row, dict) and "task" in row]


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |", *("| " + " | ".join(row) + " |" for row in rows), ""]


def digits(value, count=3):
    return f"{value:.{count}g}" if value < 100 else f"{value:.0f}"


def gains_table(rows):
    kinds = [kind for kind in KINDS if any(kind in row["gain"] for row in rows)]
    published = rows[0]["device"] == "cuda"
    head = ["model", "batch", "PyTorch FP32, ms", *(f"{KINDS[kind]}, ms (times as fast)" for kind in kinds), *(f"cosine, error {KINDS[kind]}" for kind in kinds)]
    lines = []
    for row in rows:
        name, _, batch = row["model"].partition(":")
        line = [f"`{name}`", batch, digits(row["ms"]["pytorch_fp32"]), *(f"{digits(row['ms'][kind])} ({row['gain'][kind]:.1f})" for kind in kinds)]
        line += [f"{row['agreement'][kind]['cosine']:.5f}, {100 * row['agreement'][kind]['error']:.2g} %" for kind in kinds]
        if published:
            times = PUBLISHED.get(name)
            line.append(f"{times[0]}: {times[0] / times[1]:.1f}, {times[0] / times[2]:.1f}" if times and batch == "1" else "")
        lines.append(line)
    return table(head + (["TensorRT on an A100, as published: ms in FP32, times as fast in FP16, INT8"] if published else []), lines)


def accuracy_table(rows):
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for row in (row for row in rows if row["task"] == task):
            who = row["how"] or "" if row["precision"] != "fp32" else ""
            score = f"{row['score']:.5f}" if row.get("score") is not None else "does not run"
            below = f"{row['below']:.5f}" if row.get("below") is not None and row["precision"] != "fp32" else ""
            lines.append([f"`{task}`", row["unit"], KINDS[row["precision"]], who, score, below, f"{row['bar']:g}" if "bar" in row else ""])
    return table(["network", "score", "type", "calibrator", "score", "below FP32", "at most"], lines)


def page(results, source):
    lines = ["# Precision", "", "What narrow types gain, and what they cost: made by `bench/summary.py` from files in `bench/results`, a table a run on one machine. How models get into these "
             "types: [Quantized models](quantization.md), and `precision=` of [builds](python.md).", ""]
    lines += ["## Gains over FP32 without optimization", "", "PyTorch computes in FP32, eagerly and not in TF32; then this library in narrower types, all by turns on one input. Weights are random: "
              "the cosine with PyTorch's outputs and the root mean square of the difference, as a part of theirs, say how far results move, not how many answers change.", ""]
    for name, content in reversed(results.items()):
        if rows := gains(content):
            lines += [*source(name, content), *gains_table(rows), *([content["remark"], ""] if "remark" in content else [])]
    lines += ["## Accuracy on real weights", "", "Scores on inputs that calibration has not seen: of PP-OCRv4's text recognizer, of the sentence encoder all-MiniLM-L6-v2, and of a small CNN trained on "
              "scikit-learn's digits (`bench/accuracy.py`). ONNX Runtime's rows are its static quantization with the same samples, run by itself.", ""]
    for name, content in reversed(results.items()):
        if rows := accuracies(content):
            lines += [*source(name, content), *accuracy_table(rows)]
    return "\n".join(lines)
