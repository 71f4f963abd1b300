"""Paired, interleaved measurements: one worker process per runtime and model, rounds in random order."""
import json
import os
import pathlib
import random
import select
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


class Worker:
    """A worker process; ask() raises RuntimeError with the worker's own message.

    load=False: the caller asks for "load" itself, after a "build". timeout: seconds for each answer; None: any time.
    """

    def __init__(self, runtime, model, plan, threads, load=True, timeout=None):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="PASSIVE")
        self.runtime, self.timeout = runtime, timeout
        self.command = {"runtime": runtime, "model": str(model), "plan": str(plan), "threads": threads}
        self.process = subprocess.Popen([sys.executable, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=env)
        if load:
            self.load()

    def load(self):
        self.load_ms = self.ask(cmd="load", **self.command)["load_ms"]

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        if self.timeout and not select.select([self.process.stdout], [], [], self.timeout)[0]:
            self.process.kill()
            raise RuntimeError(f"{self.runtime}: no answer within {self.timeout} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.runtime}: the worker died (status {self.process.wait()})")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.runtime}: {answer['error']}")
        self.rss_mib = answer.get("rss_mib", 0)
        return answer

    def close(self):
        try:
            self.process.stdin.write('{"cmd": "quit"}\n')
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except Exception:
            self.process.kill()


def difference(a, b):
    """Largest |a - b| over the largest |b|, and the cosine; NaN on one side only is infinite."""
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf"), 0.0
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    scale, norm = np.abs(b).max(initial=0), np.linalg.norm(a) * np.linalg.norm(b)
    worst = np.abs(a - b).max(initial=0)
    return float(worst / scale if scale else worst), float(a @ b / norm) if norm else 1.0


def compare(model, plan, inputs, runtimes, threads=2, rounds=5, seconds=0.4, seed=0):
    """Rows {runtime: {ms, spread, load_ms, rss_mib, difference, cosine}}; a runtime that fails has {"error": text}."""
    rows, workers = {}, {}
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        feed = f"{folder}/inputs.npz"
        np.savez(feed, **inputs)
        results = {}
        for runtime in runtimes:
            try:
                worker = Worker(runtime, model, plan, threads)
                loaded = worker.ask(cmd="feed", inputs=feed)["load_ms"]
                worker.ask(cmd="time", seconds=seconds / 2)
                rss = worker.rss_mib
                worker.ask(cmd="outputs", file=f"{folder}/{runtime}.npz")
                with np.load(f"{folder}/{runtime}.npz") as arrays:
                    results[runtime] = [arrays[k] for k in sorted(arrays, key=int)]
                rows[runtime] = {"times": [], "load_ms": loaded, "rss_mib": rss}
                workers[runtime] = worker
            except RuntimeError as error:
                rows[runtime] = {"error": str(error)}
        for _ in range(rounds):
            for runtime in rng.sample(list(workers), len(workers)):
                rows[runtime]["times"].append(workers[runtime].ask(cmd="time", seconds=seconds)["ms"])
        for runtime, worker in workers.items():
            worker.close()
            row, times = rows[runtime], rows[runtime].pop("times")
            row["ms"] = float(np.median(times))
            row["spread"] = float((max(times) - min(times)) / np.median(times))
            if "ort" in results:
                pairs = [difference(a, b) for a, b in zip(results[runtime], results["ort"])]
                row["difference"] = max(p[0] for p in pairs)
                row["cosine"] = min(p[1] for p in pairs)
    return rows
