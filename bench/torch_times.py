"""Times on a GPU, interleaved: Wootz against eager, torch.compile(mode="max-autotune") and CUDA graphs. Run by torch_models.py --time.

The models are those of tools/gpu/models.py, which are torch's own or torchvision's; Swin-T is torchvision's. FP16 unless --bf16 or --fp32.
"""
import contextlib
import json
import math
import pathlib
import sys
import time

import torch

import wootz.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "gpu"))
from torch_peers import graphed  # noqa: E402

NAMES = ("resnet50", "bert_base", "yolov5s", "efficientnet_b4", "vit_b16", "swin_t")
CALLS = 20  # in a row, for one figure


def swin_t(batch):
    import torchvision

    torch.manual_seed(0)
    model = torchvision.models.swin_t(weights=None).eval()
    torch.nn.init.normal_(model.head.weight, std=0.02)
    return model, {"x": torch.randn(batch, 3, 224, 224)}


def made(name, batch, dtype):
    """(model, inputs) on the GPU."""
    if name == "swin_t":
        model, inputs = swin_t(batch)
    else:
        import models

        models.ATTENTION = "sdpa"
        model, inputs = models.make(f"{name}:{batch}")
    torch.backends.mha.set_fastpath_enabled(True)  # which models.py sets off
    return model.to("cuda", dtype), [v.to("cuda", dtype if v.is_floating_point() else v.dtype) for v in inputs.values()]


def images_last(model, args):
    if args[0].dim() != 4:
        return model, args
    return model.to(memory_format=torch.channels_last), [a.to(memory_format=torch.channels_last) for a in args]


def autotuned(model, args):
    compiled = torch.compile(model, mode="max-autotune")

    def call():
        torch.compiler.cudagraph_mark_step_begin()
        return compiled(*args)

    return call


def module_of(model, args, options):
    made = wootz.torch.compile(model, tuple(args), options=options)
    return lambda: made(*args)


def dynamo_alone(model, args):
    """torch.compile with a backend that computes nothing: what torch itself takes of a call. The result is one that was computed before."""
    result = model(*args)
    leaves, form = torch.utils._pytree.tree_flatten(result)
    kept = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    count = []

    def nothing(module, examples):
        count.append(len(module.graph.output_node().args[0]))
        return lambda *inputs: (kept * count[-1])[: count[-1]]

    compiled = torch.compile(model, backend=nothing)
    return lambda: compiled(*args)


def calls_of(model, args, options, without=()):
    """{name: call}, made ready one after another; what cannot be made is a message instead."""
    compiled = torch.compile(model, backend="wootz", options=options)
    last, last_args = images_last(model, args)
    makers = {"wootz": lambda: lambda: compiled(*args), "wootz module": lambda: module_of(model, args, options),
              "dynamo alone": lambda: dynamo_alone(model, args), "eager": lambda: lambda: last(*last_args),
              "max-autotune": lambda: autotuned(last, last_args), "cuda graph": lambda: graphed(lambda: last(*last_args))}
    calls, failed, seconds = {}, {}, {}
    for name in [n for n in makers if n not in without]:
        make = makers[name]
        start = time.perf_counter()
        try:
            calls[name] = make()
            calls[name]()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001: a peer that fails is a line of the table
            calls.pop(name, None)
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        seconds[name] = round(time.perf_counter() - start, 1)
    return calls, failed, seconds


def milliseconds(call):
    """Of one call: events around several, so that the host's own time counts where it is the longer one."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / CALLS


def host_microseconds(call):
    """What a call takes on the host, with the GPU idle before it."""
    times = []
    for _ in range(50):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    torch.cuda.synchronize()
    return sorted(times)[len(times) // 2]


def medians(calls, rounds):
    times = {name: [] for name in calls}
    for call in calls.values():
        milliseconds(call)
    for _ in range(rounds):
        for name, call in calls.items():  # one after another, so that all see the same clocks
            times[name].append(milliseconds(call))
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def first_tensor(result):
    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values())) if hasattr(result, "values") else result[0]
    return result


def error_against(want, got):
    want, got = first_tensor(want).double(), first_tensor(got).double()
    return ((got - want).abs().max() / (want.max() - want.min())).item()


def row_of(name, batch, dtype, args):
    torch._dynamo.reset()
    wootz.torch.statistics(reset=True)
    model, inputs = made(name, batch, dtype)
    with torch.no_grad():
        want = first_tensor(model(*inputs)).clone()
        calls, failed, seconds = calls_of(model, inputs, {"cache": args.cache or False}, args.without)
        row = {"model": name, "batch": batch, "failed": failed, "ready_s": seconds, **wootz.torch.statistics()}
        row["errors"] = {n: error_against(want, call()) for n, call in calls.items() if n not in ("cuda graph", "dynamo alone")}
        row["host_us"] = {name: host_microseconds(call) for name, call in calls.items()}
        calls.pop("dynamo alone", None)
        row["ms"] = medians(calls, args.rounds)
    return row


def show(row):
    ms = row["ms"]
    print(f"{row['model']}:{row['batch']}  " + "  ".join(f"{n} {t:.3f} ms" for n, t in ms.items()), flush=True)
    if "wootz" in ms:
        print("    wootz / " + ", ".join(f"{n} {ms['wootz'] / t:.2f}" for n, t in ms.items() if n != "wootz")
              + f"; error {row['errors']['wootz']:.1e}; {row['graphs']} graphs, {row['engines']} engines; "
              f"ready in {row['ready_s']['wootz']} s", flush=True)
    print("    host, us: " + ", ".join(f"{n} {us:.0f}" for n, us in row["host_us"].items()), flush=True)
    for name, why in [*row["failed"].items(), *(("left", w) for w in row["left"])]:
        print(f"    {name}: {why}", flush=True)


def run(args):
    dtype = torch.bfloat16 if args.bf16 else torch.float32 if args.fp32 else torch.float16
    torch.backends.cudnn.benchmark = True
    rows = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "dtype": str(dtype), "rows": []}
    print(f"{rows['gpu']}, torch {rows['torch']}, {rows['dtype']}", flush=True)
    start = time.perf_counter()
    for name in args.only or NAMES:
        if args.seconds and time.perf_counter() - start > args.seconds:
            print(f"{name}: no time left", flush=True)
            continue
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            rows["rows"].append(row_of(name, args.batch, dtype, args))
            show(rows["rows"][-1])
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    summary(rows["rows"])
    return 0


def summary(rows):
    for peer in ("eager", "max-autotune", "cuda graph"):
        ratios = [r["ms"]["wootz"] / r["ms"][peer] for r in rows if {"wootz", peer} <= set(r["ms"])]
        if ratios:
            print(f"geometric mean of wootz / {peer} over {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
