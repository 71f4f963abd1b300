#!/usr/bin/env python3
"""torch.compile(model, backend="wootz") over the models of torch_zoo.py: does each agree with eager, and is it one engine?

    bench/torch_models.py [--device cpu|cuda] [--fp16|--bf16] [--only NAME...] [--json FILE] [--measured]

A table as the result; the exit status is 1 where a model is wrong or fails, or fewer than --least are one graph. `--time` compares
times on a GPU instead: see torch_times.py. Needs torch, torchvision, timm and transformers; nothing is downloaded.
"""
import argparse
import json
import logging
import sys
import time

import torch
from torch.utils import _pytree

import torch_zoo
import wootz.torch

TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}


def tensors_of(result):
    return [leaf for leaf in _pytree.tree_leaves(_plain(result)) if isinstance(leaf, torch.Tensor)]


def _plain(result):
    """Results of transformers as dictionaries."""
    return dict(result) if hasattr(result, "to_tuple") else result


def error_of(got, want):
    """The largest difference relative to the range of what is wanted; infinite where shapes, types or NaNs differ."""
    if got.shape != want.shape or got.dtype != want.dtype or not torch.equal(got.isnan(), want.isnan()):
        return float("inf")
    if not want.is_floating_point():
        return 0.0 if torch.equal(got, want) else float("inf")
    got, want = got.double(), want.double()
    spread = max((want.max() - want.min()).item(), want.abs().max().item() if want.numel() == 1 else 0, 1e-30) if want.numel() else 1
    return (got - want).abs().nan_to_num(0).max().item() / spread if want.numel() else 0.0


def lively(model, args, kwargs):
    """The model with weights that hide no error: constant ones are made random (a layer scale of 1e-6, a head of zeros), and batch
    normalizations have the statistics of their inputs, without which the values of a deep model vanish."""
    with torch.no_grad():
        for p in model.parameters():
            if p.numel() > 1 and p.min() == p.max():
                p.add_(torch.randn_like(p), alpha=0.1)
        norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
        for m in norms:
            m.momentum = 1.0
        if norms:
            model.train()(*_pytree.tree_map_only(torch.Tensor, lambda t: t.repeat(8, *[1] * (t.dim() - 1)).normal_(), args), **kwargs)
    return model.eval()


def prepared(name, device, seed):
    torch.manual_seed(seed)
    model, args, kwargs = torch_zoo.MODELS[name]()
    return lively(model, args, kwargs).to(device), *_pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), (args, kwargs))


def results(model, args, kwargs):
    with torch.no_grad():
        return tensors_of(model(*args, **kwargs))


def compared(row, model, args, kwargs, dtype, options):
    """Fills a row. What 16 bits do to the model is what eager in them differs by from eager in 32: `eager` of the row."""
    truth = results(model, args, kwargs) if dtype != torch.float32 else None
    args, kwargs = _pytree.tree_map_only(torch.Tensor, lambda t: t.to(dtype) if t.is_floating_point() else t, (args, kwargs))
    model = model.to(dtype)
    want = results(model, args, kwargs)
    start = time.perf_counter()
    compiled = torch.compile(model, backend="wootz", options=options)
    got = results(compiled, args, kwargs)
    row["seconds"] = round(time.perf_counter() - start, 1)
    again = results(compiled, args, kwargs)
    errors = [error_of(g, w) for g, w in zip(got, want, strict=True)] + [error_of(a, g) for a, g in zip(again, got, strict=True)]
    row["error"] = max(errors)
    row["verdict"] = "ok" if row["error"] <= TOLERANCES[dtype] else "wrong"
    if truth is not None:
        row["eager"], row["own"] = (max(error_of(x.to(t.dtype), t) for x, t in zip(some, truth, strict=True)) for some in (want, got))
        if row["verdict"] == "wrong" and row["own"] <= 1.5 * row["eager"]:
            row["verdict"] = "as eager"  # which is as far from the truth: the model has no more digits in this type


def check(name, device, dtype, seed, options):
    """A row of the table."""
    torch._dynamo.reset()
    wootz.torch.statistics(reset=True)
    row = {"model": name, "error": float("nan")}
    try:
        compared(row, *prepared(name, device, seed), dtype, options)
    except Exception as error:  # noqa: BLE001: a row of the table says it
        row.update(verdict="fails", why=f"{type(error).__name__}: {error}".splitlines()[0][:200])
    row.update(wootz.torch.statistics())
    row["one"] = row["graphs"] == row["engines"] == 1 and not row["left"]
    return row


def show(row):
    form = f"{row['graphs']} graphs, {row['engines']} engines" if not row["one"] else "one"
    eager = f"  eager {row['eager']:.1e}, own {row['own']:.1e}" if "eager" in row else ""
    print(f"{row['model']:32} {row['verdict']:8} {row['error']:.1e}{eager}  {row.get('seconds', 0):5.1f} s  {form}", flush=True)
    for why in ([row["why"]] if "why" in row else []) + row["left"]:
        print("    " + why, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--json", help="a file for the rows")
    parser.add_argument("--measured", action="store_true", help="choose kernels by measuring them, as a build does without this tool")
    parser.add_argument("--least", type=int, default=35, help="how many must be one graph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time", action="store_true", help="compare times on a GPU (torch_times.py)")
    parser.add_argument("--fp32", action="store_true", help="with --time, which takes FP16 otherwise")
    parser.add_argument("--rounds", type=int, default=10, help="of --time, each of 20 calls of everything")
    parser.add_argument("--batch", type=int, default=1, help="of --time")
    parser.add_argument("--seconds", type=int, help="of --time: begin no further model after so many")
    parser.add_argument("--cache", help="of --time: a folder for plans")
    parser.add_argument("--without", nargs="*", default=[], help='of --time: what is left out ("max-autotune", which takes minutes)')
    return parser.parse_args()


def main():
    args = arguments()
    logging.getLogger("wootz.torch").setLevel(logging.ERROR)  # the rows say it
    if args.time:
        import torch_times

        return torch_times.run(args)
    torch.backends.cudnn.allow_tf32 = False  # which torch does by itself: TF32 has three digits
    dtype = torch.float16 if args.fp16 else torch.bfloat16 if args.bf16 else torch.float32
    options = {"cache": False, "build": {} if args.measured else {"timing": "0"}}
    rows = []
    for name in args.only or torch_zoo.MODELS:
        rows.append(check(name, args.device, dtype, args.seed, options))
        show(rows[-1])
    whole, bad = sum(r["one"] for r in rows), [r["model"] for r in rows if r["verdict"] not in ("ok", "as eager")]
    print(f"{len(rows)} models in {str(dtype).removeprefix('torch.')} on {args.device}, seed {args.seed}: {len(rows) - len(bad)} agree "
          f"({sum(r['verdict'] == 'as eager' for r in rows)} of them no further from FP32 than eager is), "
          f"{whole} as one graph" + (f"; not: {', '.join(bad)}" if bad else ""))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"device": args.device, "dtype": str(dtype), "torch": torch.__version__, "rows": rows}, file, indent=1)
    return 1 if bad or (not args.only and whole < args.least) else 0


if __name__ == "__main__":
    sys.exit(main())
