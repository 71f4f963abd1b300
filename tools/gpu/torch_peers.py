"""PyTorch on the same GPU: eager, in a CUDA graph, and compiled; medians of CUDA events in ms, as JSON. And how far its
results are from those of the CPU in FP32, as compare.py counts it.

    python tools/gpu/torch_peers.py OUT.json [--compile] NAME...
"""

import json
import sys

import models
import torch


def median_ms(call, runs=100, warm=20):
    for _ in range(warm):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def flat(result):
    return [v.detach().double().cpu() for v in (result if isinstance(result, (tuple, list)) else (result,))]


def error(want, result):
    return max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(want, flat(result)))


def graphed(call):
    """A call that replays a recorded CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def main():
    arguments = sys.argv[1:]
    compile_too = "--compile" in arguments
    out, *names = [a for a in arguments if a != "--compile"]
    torch.backends.cudnn.benchmark = True
    torch.backends.mha.set_fastpath_enabled(True)
    models.ATTENTION = "sdpa"
    rows = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name()}
    for name in names:
        model, inputs = models.make(name)
        with torch.no_grad():
            want = flat(model(*inputs.values())) if not name.endswith(":32") else None
        model = model.cuda()
        x = [v.cuda() for v in inputs.values()]
        row = rows.setdefault(name, {})
        with torch.no_grad():
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
            row["tf32_graph"] = median_ms(graphed(lambda: model(*x)))
            if want is not None:
                row["tf32_error"] = error(want, model(*x))
                state = {k: v.clone() for k, v in model.state_dict().items()}
                xb = [v.bfloat16() if v.is_floating_point() else v for v in x]
                row["bf16_error"] = error(want, model.bfloat16()(*xb))
                model = model.float()
                model.load_state_dict(state)
            half = model.half()
            xh = [v.half() if v.is_floating_point() else v for v in x]
            if xh[0].dim() == 4:
                half = half.to(memory_format=torch.channels_last)
                xh = [v.to(memory_format=torch.channels_last) for v in xh]
            row["fp16_eager"] = median_ms(lambda: half(*xh))
            if want is not None:
                row["fp16_error"] = error(want, half(*xh))
            row["fp16_graph"] = median_ms(graphed(lambda: half(*xh)))
            if compile_too:
                torch._dynamo.reset()
                compiled = torch.compile(half, mode="max-autotune")

                def step():
                    torch.compiler.cudagraph_mark_step_begin()
                    return compiled(*xh)

                row["fp16_compile"] = median_ms(step)
        print(name, {k: float(f"{v:.4g}") for k, v in row.items()}, flush=True)
        with open(out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
