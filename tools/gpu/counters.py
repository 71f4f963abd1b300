"""What bounds the steps of a plan on a GPU, by hardware counters: every launch of one inference under Nsight Compute (`ncu`).

    python tools/gpu/counters.py FOLDER PLAN... [--json FILE]

Needs the Python package of the build (PYTHONPATH=build/release/python) and leave to read counters. Steps run one by one
(WOOTZ_NVTX=layers) and the program once for each set of counters, so that the caches hold what the steps in front left there.
Clocks are left alone. FOLDER is for ncu's reports: NAME.csv, if it is there, is read and not made again.

A line for each kind of step. us, cycles: from a launch's first block's begin to its last one's end. The tensor pipe's, the L2's and the memory's
share of their peaks, and the multiprocessors that have a block, are of that time, weighted by it. Warps: of a multiprocessor that has some;
issue: of its cycles. Last: where warps wait, as shares of their time. A second program runs 20 inferences as one
range, as they are enqueued; its totals, of one inference, are printed first.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

ELAPSED, ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
RANGE = ["gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max", "sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second"]
RANGE += ["sm__pipe_tensor_cycles_active" + ELAPSED, "lts__throughput" + ELAPSED, "dram__throughput" + ELAPSED, "l1tex__m_xbar2l1tex_read_bytes.sum"]
RANGE += ["lts__t_bytes.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum"]
PIECES = ["sm__warps_active" + ACTIVE, "smsp__issue_active" + ACTIVE, "launch__grid_size", "launch__block_size"]
PIECES += ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
PIECES += ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
STALL, STALL_END = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
STALLS = ["barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "membar",
          "mio_throttle", "misc", "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"]
LAYERS = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
INFERENCES = 20


def run(plan, count):
    """Three inferences, then `count` that a profiler takes."""
    import ctypes

    import numpy as np
    import wootz

    cuda, context, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    cuda.cuStreamCreate(ctypes.byref(stream), 1)
    runtime = wootz.Runtime(wootz.Logger(wootz.Logger.WARNING))
    engine = wootz.load_engine(runtime, plan)
    runner, memory, rng = engine.create_execution_context(), [], np.random.default_rng(0)
    for name in engine:
        shape, dtype = tuple(runner.get_tensor_shape(name)), np.dtype(wootz.nptype(engine.get_tensor_dtype(name)))
        integers = np.ones(shape, dtype) if "mask" in name else rng.integers(0, 30000, shape).astype(dtype)
        memory.append(wootz.to_device(engine, integers if dtype.kind in "iu" else rng.standard_normal(shape).astype(dtype)))
        runner.set_tensor_address(name, memory[-1].address)
    for each in (3, count):
        if each == count:
            cuda.cuProfilerStart()
        for _ in range(each):
            runner.execute_async_v3(stream.value)
        engine.synchronize(stream.value)
    cuda.cuProfilerStop()


def profile(file, plan, metrics, count, **environment):
    """The rows of ncu's table for a program that runs the plan."""
    if not file.exists():
        whole = ["--replay-mode", "app-range"] if count > 1 else ["--replay-mode", "application", "--profile-from-start", "off", "--nvtx"]
        report = file.with_suffix(".ncu-rep")
        command = ["ncu", "--clock-control", "none", "--cache-control", "none", *whole, "-f", "-o", report, "--metrics", ",".join(metrics)]
        subprocess.run([*command, sys.executable, __file__, "--run", str(count), file.parent, plan], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, **environment})
        with open(file, "w", encoding="utf-8") as table:
            subprocess.run(["ncu", "-i", report, "--csv", "--page", "raw", "--print-units", "base"], check=True, stdout=table)
    lines = list(csv.reader(line for line in file.read_text().splitlines() if line.startswith('"')))
    return [dict(zip(lines[0], line)) for line in lines[2:]]


def number(row, name):
    return float(row[name].replace(",", ""))


def kind_of(tactic):
    """"product, tiles of clusters" of "generated:gemm_generated_tile_32x64k4c2"."""
    kernel = tactic.partition("?")[0]
    for word, kind in (("gemm", "product"), ("attention", "attention"), ("norm", "norm"), ("stem", "stem"), ("conv", "convolution")):
        if word in kernel.partition(":")[2]:
            break
    else:
        return "rest"
    if kind not in ("product", "convolution"):
        return kind
    forms = ((r"cublaslt:", "cuBLASLt"), (r"cudnn:", "cuDNN"), (r"_fed", "fed tiles"), (r"c\d+$", "tiles of clusters"), (r"\dk\d+$", "tiles that divide the sum"))
    return f"{kind}, {next((form for pattern, form in forms if re.search(pattern, kernel)), 'other tiles')}"


def launches_of(rows):
    """[(kind, counters)]; launches of a step of several parts are those parts, in their order."""
    found, last, nth = [], None, 0
    for row in rows:
        layer = row[LAYERS].split('"<default domain>:')[-1].split(":none:")[0]
        nth, last = (nth + 1 if layer == last else 0), layer
        parts = layer.rpartition("[")[2].rstrip("]")
        if parts.startswith("apart:"):
            parts = parts.partition("?")[2].split("|")[nth]
        window, elapsed = number(row, "sm__cycles_active.max"), number(row, "sm__cycles_elapsed.avg")
        of = {"cycles": window, "us": window / number(row, "sm__cycles_elapsed.avg.per_second") * 1e6, "active": 100 * number(row, "sm__cycles_active.avg") / window}
        for key, name in (("tensor", "sm__pipe_tensor_cycles_active"), ("l2", "lts__throughput"), ("dram", "dram__throughput")):
            of[key] = number(row, name + ELAPSED) * elapsed / window
        of["warps"], of["issue"] = 0.64 * number(row, PIECES[0]), number(row, PIECES[1])
        of["counts"] = [number(row, name) for name in [*PIECES[2:], "l1tex__m_xbar2l1tex_read_bytes.sum", "smsp__inst_executed.sum"]]
        stalls = {name: number(row, STALL + name + STALL_END) for name in STALLS}
        of["stalls"] = {name: 100 * value / max(sum(stalls.values()), 1e-9) for name, value in stalls.items()}
        found.append((kind_of(parts), of))
    return found


def together(launches):
    """Launches of a kind as one row, weighted by their time."""
    us = sum(of["us"] for of in launches)
    mean = lambda key, of=lambda each: each: sum(of(each)[key] * each["us"] for each in launches) / us
    blocks, threads, conflicts, wavefronts, sectors, requests, read, instructions = map(sum, zip(*(of["counts"] for of in launches)))
    warps = sum(of["counts"][0] * of["counts"][1] / 32 for of in launches)
    stalls = sorted(((mean(name, lambda each: each["stalls"]), name) for name in STALLS), reverse=True)
    row = {"launches": len(launches), "us": us, "cycles": sum(each["cycles"] for each in launches), "tensor": mean("tensor"), "l2": mean("l2"), "dram": mean("dram"), "active": mean("active"), "warps": mean("warps"),
           "issue": mean("issue"), "blocks": blocks / len(launches), "threads": threads / len(launches), "read_mb": read / 1e6, "instructions_a_warp": instructions / warps,
           "bank_conflicts": 100 * conflicts / max(wavefronts, 1), "sectors_a_load": sectors / max(requests, 1)}
    return {**{key: round(value, 1) for key, value in row.items()}, "stalls": {name: round(value, 1) for value, name in stalls[:7]}}


def whole(row):
    """Of one inference: MB, and cycles of which a multiprocessor has a block, and its tensor pipe computes."""
    elapsed = number(row, "sm__cycles_elapsed.avg") / INFERENCES
    sums = {"active": number(row, "sm__cycles_active.avg") / INFERENCES, "tensor": number(row, "sm__pipe_tensor_cycles_active" + ELAPSED) / 100 * elapsed}
    megabytes = {"dram": number(row, "dram__bytes_read.sum") + number(row, "dram__bytes_write.sum"), "l2": number(row, "lts__t_bytes.sum"),
                 "read": number(row, "l1tex__m_xbar2l1tex_read_bytes.sum")}
    return {**{key + "_cycles": round(value) for key, value in sums.items()}, **{key + "_mb": round(value / INFERENCES / 1e6, 1) for key, value in megabytes.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        return run(args.plans[0], args.run)
    args.folder.mkdir(parents=True, exist_ok=True)
    kept = {}
    for plan in args.plans:
        name = pathlib.Path(plan).name.partition(".")[0]
        totals = whole(profile(args.folder / f"{name}.whole.csv", plan, RANGE, INFERENCES, WOOTZ_NVTX="0")[-1])
        stalls = [STALL + stall + STALL_END for stall in STALLS]
        launches = launches_of(profile(args.folder / f"{name}.csv", plan, RANGE + PIECES + stalls, 1, WOOTZ_NVTX="layers"))
        totals["window_cycles"] = round(sum(of["cycles"] for _, of in launches))
        groups = collections.defaultdict(list)
        for kind, of in launches:
            groups[kind].append(of)
        kinds = dict(sorted(((kind, together(group)) for kind, group in groups.items()), key=lambda item: -item[1]["us"]))
        kept[name] = {"launches": len(launches), "whole": totals, "kinds": kinds}
        print(f"{name}: {len(launches)} launches, {totals}")
        for kind, row in kinds.items():
            print(f"  {kind:38}", *(f"{key} {value}" for key, value in row.items() if key != "stalls"), {key: value for key, value in list(row["stalls"].items())[:4]})
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
