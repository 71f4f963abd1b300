"""Writes docs/measured.md, docs/precision.md, and the short table of README.md, from the files of bench/results. Nothing is measured here.

    python bench/summary.py [--check]

A row compares figures of one file alone, which were taken on one machine. --check writes nothing and fails where the pages are not what would be written.
"""
import argparse
import json
import math
import pathlib
import sys

import precision_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS, PAGE, PRECISION, README = ROOT / "bench/results", ROOT / "docs/measured.md", ROOT / "docs/precision.md", ROOT / "README.md"
MARKS = "<!-- table: bench/summary.py -->", "<!-- end of table -->"
PEERS = {"ort": "ONNX Runtime", "openvino": "OpenVINO", "openvino_bf16": "OpenVINO in BF16"}
TORCH = {"fp16_graph": "PyTorch, CUDA graph", "fp16_compile": "torch.compile"}
# README's rows: model, precision on the CPU or None for FP16 on the GPU.
SHORT_CPU = (("resnet50", "fp32"), ("resnet50_int8", "int8"), ("bert_base", "fp32"), ("yolov8n", "fp32"), ("minilm_l6", "fp32"), ("efficientnet_b4", "fp32"),
             ("mobilenetv3_large", "fp32"))
SHORT_GPU = ("resnet50:1", "bert_base:1", "yolov5s:1", "efficientnet_b4:1", "resnet50:32")


def files():
    """{name: content} of the results that have rows, oldest first."""
    read = {path.name: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    return {name: content for name, content in read.items() if isinstance(content, dict) and isinstance(content.get("rows"), list)}


def cpu(content):
    """{(model, precision): {runtime: ms}} of a run of ./dev bench; empty for other files."""
    table = {}
    for row in content["rows"]:
        if "runtime" in row and row.get("ms"):
            table.setdefault((row["model"], row["precision"]), {})[row["runtime"]] = row["ms"]
    return {key: times for key, times in table.items() if "wootz" in times and len(times) > 1}


def gpu(content):
    """{model: {"wootz" or a key of TORCH: ms}} in FP16, of a file that has both."""
    table = {}
    peers = content.get("pytorch") or content.get("pytorch_ms") or {}
    for row in content["rows"]:
        if "cuda" not in content and "device" not in content or row.get("precision", row.get("mode")) != "fp16":
            continue
        theirs = {key: ms for key, ms in peers.get(row["model"], {}).items() if key in TORCH}
        if row.get("torch_graph"):
            theirs["fp16_graph"] = row["torch_graph"]
        if theirs:
            table[row["model"]] = {"wootz": row.get("median_ms", row.get("ms")), **theirs}
    return table


def number(ms):
    return f"{ms:.3g}" if ms < 100 else f"{ms:.0f}"


def against(times, peer):
    """A cell: the peer's time, and ours as a part of it."""
    return f"{number(times[peer])} ({times['wootz'] / times[peer]:.2f})" if peer in times else ""


def mean(table, peer):
    ratios = [times["wootz"] / times[peer] for times in table.values() if peer in times]
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} ({len(ratios)})" if ratios else ""


def lines_of(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |", *("| " + " | ".join(row) + " |" for row in rows), ""]


def source(name, content):
    what = content.get("machine") or f"{content['device']}, driver {content['driver']}"
    versions = ", ".join(f"{PEERS.get(key, key).replace('onnxruntime', 'ONNX Runtime')} {value}" for key, value in content.get("versions", {}).items())
    versions = versions or ", ".join(f"{key} {content[key]}" for key in ("cuda", "cudnn", "torch") if key in content)
    commands = content.get("commands") or [content[key] for key in ("command",) if key in content]
    said = [f"{content['date']}, {what}; {versions}.", *(f"Commands: {'; '.join(f'`{each}`' for each in commands)}." for _ in commands[:1])]
    return [*said, f"File: `bench/results/{name}`.", ""]


def cpu_section(name, content, table):
    peers = [peer for peer in PEERS if any(peer in times for times in table.values())]
    rows = [[f"`{model}`", precision.upper(), number(times["wootz"]), *(against(times, peer) for peer in peers)] for (model, precision), times in table.items()]
    rows.append(["geometric mean (models)", "", "", *(mean(table, peer) for peer in peers)])
    return [*source(name, content), *lines_of(["model", "type", "Wootz", *(PEERS[peer] for peer in peers)], rows)]


def gpu_section(name, content, table):
    peers = [peer for peer in TORCH if any(peer in times for times in table.values())]
    rows = [[f"`{model.partition(':')[0]}`", model.partition(":")[2], number(times["wootz"]), *(against(times, peer) for peer in peers)] for model, times in table.items()]
    return [*source(name, content), *lines_of(["model", "batch", "Wootz", *(TORCH[peer] for peer in peers)], rows)]


def page(results):
    lines = ["# Measured", "", "Times of one inference in milliseconds, ours and those of other programs on the same machine, made by `bench/summary.py` from the files in `bench/results`. "
             "In brackets: our time as a part of the other's, so that below 1 we are faster. A table is one measurement: times of different tables are of different machines.", ""]
    for title, read, section in (("On processors", cpu, cpu_section), ("On GPUs, FP16", gpu, gpu_section)):
        lines += [f"## {title}", ""]
        for name, content in reversed(results.items()):
            if table := read(content):
                lines += section(name, content, table)
    return "\n".join([*lines, "How to measure: `./dev bench` on a processor ([the daily commands](../CONTRIBUTING.md)), `tools/gpu/check.sh models peers` on a GPU.", ""])


def newest(results, read, key):
    """(date, file, times) of the newest file that has a row."""
    for name, content in reversed(results.items()):
        if key in (table := read(content)):
            return content, table[key]
    raise SystemExit(f"bench/results has no row {key}")


def short(results):
    whole = next(content for name, content in results.items() if len(cpu(content)) > 15 and "openvino" in {row.get("runtime") for row in content["rows"]})
    table = cpu(whole)
    rows = [[f"`{model}`, {precision.upper()}", number(table[model, precision]["wootz"]), f"ONNX Runtime {against(table[model, precision], 'ort')}, "
             f"OpenVINO {against(table[model, precision], 'openvino')}"] for model, precision in SHORT_CPU]
    lines = [*lines_of([f"{whole['machine']}, {whole['date']}", "Wootz, ms", "other, ms (ours as a part of it)"], rows)]
    rows, dates = [], set()
    for model in SHORT_GPU:
        content, times = newest(results, gpu, model)
        dates.add(content["date"])
        rows.append([f"`{model.partition(':')[0]}`, FP16, batch {model.partition(':')[2]}", number(times["wootz"]), ", ".join(f"{TORCH[key]} {against(times, key)}" for key in TORCH if key in times)])
    return [*lines, *lines_of([f"NVIDIA H200, {min(dates)} to {max(dates)}", "Wootz, ms", "other, ms (ours as a part of it)"], rows)]


def with_table(text, lines):
    before, rest = text.split(MARKS[0])
    return "\n".join([before + MARKS[0], "", *lines]) + MARKS[1] + rest.split(MARKS[1])[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is not current")
    check, results = parser.parse_args().check, files()
    wanted = {PAGE: page(results), PRECISION: precision_page.page(results, source), README: with_table(README.read_text(), short(results))}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} {'is not what bench/summary.py writes: run it' if check else 'written'}")
        if not check:
            path.write_text(wanted[path])
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
