"""What a row of the list of fusions is; the rows are in rows.py and the files that it names at its end."""
from dataclasses import dataclass
from typing import Callable

CONV, GEMM, POOL, REDUCE, SOFTMAX, NORM = "conv", "gemm", "pool", "reduce", "softmax", "norm"
POINTWISE, MOVE, TOPK, ATTENTION, CHAIN = "pointwise", "move", "topk", "attention", "chain"
QUANTIZE_ROWS = "quantize"


@dataclass
class Row:
    name: str
    wording: str  # of TensorRT's documentation; rows of ours have none
    pattern: str
    passes: tuple  # without these the pattern stays in pieces; none: it cannot be left out
    steps: list  # kernel family of each step, sorted
    build: Callable
    tolerance: float = 1e-5
    note: str = ""
    same_steps: bool = False  # without the passes there are as many steps, with other kernels


ROWS = []


def row(wording, pattern, passes, steps, **more):
    def keep(build):
        ROWS.append(Row(build.__name__, wording, pattern, tuple(passes.split()), sorted(steps), build, **more))
        return build

    return keep
