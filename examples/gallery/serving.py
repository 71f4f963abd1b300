"""# Serving with several contexts

One engine holds weights and kernels; a context is what one caller needs beside them. A server has one engine and as many contexts as requests that it
works on at the same time, each on a thread of its own: Python's lock is let go while an inference runs. The engine is built for one thread an
inference (option `threads`), so that contexts, not parts of one inference, share the machine.

The requests are lines of text for PP-OCR's classifier, from the PyPI package `rapidocr-onnxruntime`. They wait in one queue, from which each context takes the next.

**What to look at:** throughput grows with the number of contexts up to the number of processors, and no further; from then on more contexts only make each request take longer. The
best number is where the first curve levels off and the second has not yet risen. Every answer is compared with what one context gives by itself: they have to be equal to the last bit.
"""
import os
import queue
import threading
import time

import numpy as np

import common
import wootz


def serve(engine, requests, contexts, seconds):
    """Answers as many as `seconds` allow; (a second, latencies in ms, wrong answers)."""
    waiting = queue.SimpleQueue()
    latencies, wrong, failures = [], [], []
    end = time.perf_counter() + seconds

    def work():
        context = engine.create_execution_context()
        number = 0
        try:
            while time.perf_counter() < end:
                x, answer = waiting.get()
                began = time.perf_counter()
                (got,) = wootz.infer(context, {"x": x}).values()
                latencies.append((time.perf_counter() - began) * 1e3)
                wrong.append(not np.array_equal(got, answer))
                waiting.put(requests[number % len(requests)])
                number += 1
        except Exception as error:  # a thread's error would be lost
            failures.append(error)

    for i in range(2 * contexts):
        waiting.put(requests[i % len(requests)])
    threads = [threading.Thread(target=work) for _ in range(contexts)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    common.expect(not failures, f"no thread fails: {failures}")
    return len(latencies) / (time.perf_counter() - began), np.array(latencies), sum(wrong)


def main():
    chosen = common.arguments()
    file = str(common.package("rapidocr_onnxruntime") / "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
    options = chosen.options | ({"threads": "1"} if chosen.backend == "cpu" else {})
    engine = common.load(wootz.build(file, shapes={"x": ((1, 3, 48, 192),) * 3}, options=options))
    alone, random = engine.create_execution_context(), np.random.default_rng(6)
    inputs = [random.standard_normal((1, 3, 48, 192), np.float32) for _ in range(8)]
    requests = [(x, next(iter(wootz.infer(alone, {"x": x}).values())).copy()) for x in inputs]
    common.agree(requests[0][1], common.onnxruntime_session(file).run(None, {"x": inputs[0]})[0], "the answer beside ONNX Runtime", chosen.tolerance)
    numbers = (1, 2) if chosen.quick else tuple(range(1, 2 * min(os.cpu_count(), 8) + 3))
    rates, percentiles = [], []
    for contexts in numbers:
        rate, latencies, wrong = serve(engine, requests, contexts, 0.2 if chosen.quick else 2)
        common.expect(wrong == 0, f"{contexts} contexts answer as one does ({wrong} are wrong)")
        rates.append(rate)
        percentiles.append(np.percentile(latencies, (50, 95, 99)))
        print(f"{contexts} contexts: {rate:.0f} a second; half within {percentiles[-1][0]:.2f} ms, 95 % {percentiles[-1][1]:.2f} ms, 99 % {percentiles[-1][2]:.2f} ms")
    page = common.Picture(1000, 360)
    ends = (0.5, numbers[-1] + 0.5)
    plot = common.Plot(page, (76, 50, 390, 240), ends, (0, max(rates) * 1.15), f"Requests a second, {os.cpu_count()} processors", "contexts")
    plot.columns(numbers, rates, 0.6, 0)
    plot = common.Plot(page, (570, 50, 400, 240), ends, (0, np.max(percentiles) * 1.25), "Milliseconds of a request", "contexts")
    for i, name in enumerate(("half of the requests", "95 of 100", "99 of 100")):
        plot.curve(numbers, [p[i] for p in percentiles], i, name)
    page.save(chosen.out / "serving.svg")


if __name__ == "__main__":
    main()
