"""AutoTuneCombination: the types, formats and tactics that a plugin takes."""
import itertools

from .._wootz import DataType, TensorFormat

_TYPES = {"FP32": DataType.FLOAT, "FP16": DataType.HALF}


def _type(name):
    name = name.strip()
    if name in _TYPES:
        return _TYPES[name]
    if name not in DataType.__members__:
        raise ValueError(f"'{name}' is no type: FP32, FP16, or a name of DataType is wanted")
    return DataType[name]


def _format(name):
    if name.strip() not in TensorFormat.__members__:
        raise ValueError(f"'{name.strip()}' is no name of TensorFormat")
    return TensorFormat[name.strip()]


class _Choices:
    """What one input or output may be: `together` with the others that have a choice of as many, or by itself."""

    def __init__(self, text, parse):
        if "|" in text and "*" in text:
            raise ValueError(f"'{text}': of '|' and '*', one input or output takes one")
        self.together = "|" in text
        self.values = [parse(part) for part in text.replace("*", "|").split("|")]


def _expand(choices):
    """All lists of one value each. Those with '|' take their choices in step."""
    together = [c for c in choices if c.together]
    lengths = {len(c.values) for c in together}
    if len(lengths) > 1:
        raise ValueError(f"choices with '|' are taken in step, and these have {sorted(lengths)} values")
    for step in range(lengths.pop() if lengths else 1):
        yield from itertools.product(*([c.values[step]] if c.together else c.values for c in choices))


class AutoTuneCombination:
    """Types and formats that a plugin takes together, and its tactics for them.

    `io_types`: for each input and output a type, separated by commas; '|' between types that change together with the other inputs and
    outputs, '*' between those that change by themselves: "FP32|FP16, FP32|FP16". `layouts`: names of TensorFormat in the same way, by
    default LINEAR. `tactics`: positive numbers.
    """

    def __init__(self, io_types=None, layouts=None, tactics=None):
        self._types = [] if io_types is None else [_Choices(t, _type) for t in io_types.split(",")]
        self._layouts = [] if layouts is None else [_Choices(t, _format) for t in layouts.split(",")]
        self._tactics = [] if tactics is None else list(tactics)

    def pos(self, pos, io_types, layouts="LINEAR"):
        """What the inputs and outputs at `pos`, a number or several, may be."""
        places = [pos] if isinstance(pos, int) else list(pos)
        for place in places:
            while len(self._types) <= place:
                self._types.append(None)
            while len(self._layouts) <= place:
                self._layouts.append(None)
            self._types[place], self._layouts[place] = _Choices(io_types, _type), _Choices(layouts, _format)

    def tactics(self, tactics):
        """The plugin's own tactics for this."""
        self._tactics = list(tactics)

    def _of(self, count):
        """All of it as ((type, format) for each input and output)."""
        types, layouts = list(self._types), list(self._layouts)
        if len(types) != count or None in types:
            raise ValueError(f"an AutoTuneCombination says the types of {sum(t is not None for t in types)} of {count} inputs and outputs")
        linear = _Choices("LINEAR", _format)
        layouts = [linear if c is None else c for c in layouts] + [linear] * (count - len(layouts))
        if len(layouts) > count:
            raise ValueError(f"an AutoTuneCombination has formats of {len(layouts)} of {count} inputs and outputs")
        for some in _expand(types):
            for formats in _expand(layouts):
                yield tuple(zip(some, formats))
