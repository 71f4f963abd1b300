"""# From ONNX Runtime to Wootz

The same ONNX file, the same arrays, in both programs:

| ONNX Runtime | Wootz |
| --- | --- |
| `InferenceSession("m.onnx")` | `plan = wootz.build("m.onnx", shapes=...)`, once; then `wootz.Runtime(logger).deserialize_cuda_engine(plan)` |
| `session.run(None, {"x": x})` | `wootz.infer(context, {"x": x})`, a dictionary by the names of outputs |
| any size where the model leaves it open | any size between the smallest and the largest that the build was told |
| one session for all threads | one engine for all, and a context for each thread |

The plan is made once, on the machine that it is for, and kept: loading it takes milliseconds, since nothing is optimized then. The model is the line
classifier of PP-OCR (which way up is this line?), from the PyPI package `rapidocr-onnxruntime`, run with batches of several sizes.

**What to look at:** times to be ready and to run. Results may differ by rounding, as sums are added up in another order; the program prints how much, and ends with an error where it is
more than one in ten thousand.
"""
import time

import numpy as np

import common
import wootz

BATCHES = (1, 2, 4, 8)


def timed(call):
    began = time.perf_counter()
    result = call()
    return result, (time.perf_counter() - began) * 1e3


def main():
    chosen = common.arguments()
    file = str(common.package("rapidocr_onnxruntime") / "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
    session, session_ms = timed(lambda: common.onnxruntime_session(file))
    shapes = {"x": ((1, 3, 48, 192), (4, 3, 48, 192), (8, 3, 48, 192))}
    plan, build_ms = timed(lambda: wootz.build(file, shapes=shapes, options=chosen.options))
    context, load_ms = timed(lambda: common.load(plan).create_execution_context())
    random, rows, worst = np.random.default_rng(1), {}, 0.0
    for batch in BATCHES:
        x = random.standard_normal((batch, 3, 48, 192), np.float32)
        (ours,), (theirs,) = wootz.infer(context, {"x": x}).values(), session.run(None, {"x": x})
        worst = max(worst, common.agree(ours, theirs, f"batch {batch}", chosen.tolerance))
        rows[batch] = common.milliseconds({"Wootz": lambda x=x: wootz.infer(context, {"x": x}), "ONNX Runtime": lambda x=x: session.run(None, {"x": x})},
                                          2 if chosen.quick else 50)
    print(f"differs from ONNX Runtime by at most {worst:.1g} of the scale; build once {build_ms:.0f} ms, load {load_ms:.1f} ms (session {session_ms:.0f} ms)")
    for batch, row in rows.items():
        print(f"batch {batch}: " + ", ".join(f"{who} {ms:.2f} ms" for who, ms in row.items()))
    page = common.Picture(900, 180 + 28 * 2 * len(BATCHES))
    y = page.bars(24, 34, 850, "Ready to run", [("Wootz, a plan from its file", load_ms, 0), ("ONNX Runtime, a session", session_ms, 1)], " ms")
    bars = [(f"{who}, batch {batch}", ms, i) for batch, row in rows.items() for i, (who, ms) in enumerate(row.items())]
    page.bars(24, y, 850, "One inference", bars, " ms")
    page.save(chosen.out / "from_onnxruntime.svg")


if __name__ == "__main__":
    main()
