"""Extents that are known when an engine runs: torch's symbolic integers, as values of the network and as ranges of a profile."""
import dataclasses

import sympy
import torch
from torch.utils._sympy.functions import CeilToInt, FloorDiv, IntTrueDiv, Mod, PythonMod
from torch.utils._sympy.numbers import int_oo

from ._types import Unsupported

LARGEST = 1 << 20  # an upper bound beyond this one says nothing
GROWTH = 4  # how far an open extent may grow before the engine is built anew


def is_symbolic(size):
    """Whether an extent is known only at run time."""
    return isinstance(size, torch.SymInt) and not size.node.expr.is_number


def expression(size):
    """The sympy expression of an extent; of a plain number, that number."""
    return sympy.Integer(int(size)) if not isinstance(size, torch.SymInt) else size.node.expr


def plain(size):
    """An extent as an int where it is known, otherwise as it is."""
    return size if is_symbolic(size) else int(size)


@dataclasses.dataclass
class Range:
    """Which values of a symbol an engine takes, and the one that it is tuned for."""

    low: int
    opt: int
    high: int

    def holds(self, value):
        return self.low <= value <= self.high

    def widened(self, value):
        """The range with `value` inside: grown by a factor, so that growing sizes do not build an engine each."""
        return Range(min(self.low, value), self.opt, self.high if value <= self.high else GROWTH * value)


def symbol_range(symbol, size, given):
    """The range of a symbol that torch knows: its bounds, or those that the model was exported with, where they say something; else from
    the value that it had."""
    env = size.node.shape_env
    bounds, hint = given.get(symbol) or env.var_to_range[symbol], hint_of(symbol, env)
    low = max(1, int(bounds.lower)) if bounds.lower != -int_oo else 1
    bounded = bounds.upper != int_oo and int(bounds.upper) <= LARGEST
    return Range(low, hint, int(bounds.upper) if bounded else max(GROWTH * hint, 16))


def hint_of(symbol, env):
    """The value that a symbol had when the model was traced."""
    for name in ("backed_var_to_val", "var_to_val"):
        values = getattr(env, name, None)
        if values is not None and symbol in values:
            return int(values[symbol])
    raise Unsupported(f"extent {symbol} has no value yet: it depends on data")


def evaluate(size, values):
    """An extent as an int, for these values of its symbols."""
    return int(size) if not isinstance(size, torch.SymInt) else int(expression(size).subs(values))


class ExtentWriter:
    """Writes expressions over symbols as int64 values of one element, each once."""

    def __init__(self, writer):
        self.writer, self.sources, self.made = writer, {}, {}

    def add_input(self, tensor, sizes):
        """An input of the network: its extents that are single symbols are where these are read."""
        for axis, size in enumerate(sizes):
            if is_symbolic(size) and expression(size).is_Symbol:
                self.sources.setdefault(expression(size), (tensor, axis))

    def __call__(self, size):
        return self._write(expression(size))

    def _write(self, expr):
        if expr not in self.made:
            self.made[expr] = self._make(expr)
        return self.made[expr]

    def _make(self, expr):
        w = self.writer
        if expr.is_Integer:
            return w.ints([int(expr)])
        if expr.is_Symbol:
            if expr not in self.sources:
                raise Unsupported(f"extent {expr} is that of no input")
            tensor, axis = self.sources[expr]
            return w.slice(w.network.add_shape(tensor).get_output(0), [axis], [1], [1])
        if isinstance(expr, (FloorDiv, CeilToInt)) or expr.func in (Mod, PythonMod):
            return self._divided(expr)
        operation = _OPERATIONS.get(expr.func)
        if operation is None or (expr.func is sympy.Pow and not (expr.exp.is_Integer and expr.exp > 0)):
            raise Unsupported(f"extent {expr}")
        if expr.func is sympy.Pow:
            terms = [self._write(expr.base)] * int(expr.exp)
        else:
            terms = [self._write(term) for term in expr.args]
        result = terms[0]
        for term in terms[1:]:
            result = w.binary(operation, result, term)
        return result

    def _divided(self, expr):
        w = self.writer
        if isinstance(expr, CeilToInt):
            if not isinstance(expr.args[0], IntTrueDiv):
                raise Unsupported(f"extent {expr}")
            top, bottom = (self._write(e) for e in expr.args[0].args)
            return w.binary("FLOOR_DIV", w.binary("SUB", w.binary("SUM", top, bottom), w.ints([1])), bottom)
        top, bottom = (self._write(e) for e in expr.args)
        quotient = w.binary("FLOOR_DIV", top, bottom)
        return quotient if isinstance(expr, FloorDiv) else w.binary("SUB", top, w.binary("PROD", quotient, bottom))


_OPERATIONS = {sympy.Add: "SUM", sympy.Mul: "PROD", sympy.Max: "MAX", sympy.Min: "MIN", sympy.Pow: "PROD"}
try:
    from torch.utils._sympy.functions import Max, Min

    _OPERATIONS.update({Max: "MAX", Min: "MIN"})
except ImportError:
    pass
