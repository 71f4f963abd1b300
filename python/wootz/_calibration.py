"""Calibrators that read arrays and files, for build()."""
import math
import os

import numpy as np

from . import _wootz
from ._numpy import nptype

_BASES = {"least_error": "IInt8MinMaxCalibrator", "entropy2": "IInt8EntropyCalibrator2", "entropy": "IInt8EntropyCalibrator", "minmax": "IInt8MinMaxCalibrator",
          "legacy": "IInt8LegacyCalibrator"}
_IN_CACHES = {"LeastErrorCalibration": "least_error", "EntropyCalibration2": "entropy2", "EntropyCalibration": "entropy", "MinMaxCalibration": "minmax",
              "LegacyCalibration": "legacy"}


def _files(path, what):
    if not os.path.isdir(path):
        return [path]
    found = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith((".npy", ".npz"))]
    if not found:
        raise ValueError(f"{what}: there is no .npy and no .npz in '{path}'")
    return found


def _items(data, what):
    """Arrays and dictionaries, of whatever the application gives, one at a time."""
    if isinstance(data, (str, os.PathLike)):
        for path in _files(os.fspath(data), what):
            loaded = np.load(path, allow_pickle=False)
            yield {name: loaded[name] for name in loaded.files} if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
    elif isinstance(data, dict) or hasattr(data, "__array__"):
        yield data
    else:
        for each in data:
            yield from _items(each, what)


class Inputs:
    """What a network's inputs are to be given in a batch: shapes and numpy types by name. `what` begins messages."""

    def __init__(self, what, shapes, types):
        self.what, self.shapes, self.types = what, shapes, types

    def _check(self, name, array):
        want = self.shapes[name]
        if array.dtype != self.types[name]:
            raise ValueError(f"{self.what}: '{name}' is {array.dtype}, the network takes {self.types[name]}")
        if array.shape != want and (not want or array.ndim != len(want) or array.shape[1:] != want[1:] or len(array) == 0):
            raise ValueError(f"{self.what}: '{name}' is {array.shape}, the network takes {want}, or more of them along "
                             "the first axis")
        return 1 if array.shape == want else math.ceil(len(array) / want[0])

    def batches(self, item):
        """{input: array} of the network's shapes."""
        if not isinstance(item, dict):
            if len(self.shapes) != 1:
                raise ValueError(f"{self.what}: an array has no name, and the inputs are {sorted(self.shapes)}: give a "
                                 "dictionary or an .npz file")
            item = {next(iter(self.shapes)): item}
        if item.keys() != self.shapes.keys():
            raise ValueError(f"{self.what}: {sorted(item)} are given, the inputs are {sorted(self.shapes)}")
        arrays = {name: np.asarray(array) for name, array in item.items()}
        counts = {name: self._check(name, array) for name, array in arrays.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"{self.what}: batches differ in number: {counts}")
        for number in range(next(iter(counts.values()))):
            yield {name: self._part(name, array, number) for name, array in arrays.items()}

    def _part(self, name, array, number):
        if array.shape == self.shapes[name]:
            return array
        size = self.shapes[name][0]
        return np.take(array, range(number * size, (number + 1) * size), axis=0, mode="wrap")

    def all_batches(self, data):
        return (batch for item in _items(data, self.what) for batch in self.batches(item))

    def batch_size(self):
        first = next(iter(self.shapes.values()), ())
        return max(1, first[0]) if first else 1


def _algorithm_of(path):
    """The name of the algorithm in a cache's first line; None: the build is to say what is wrong with it."""
    with open(path, "rb") as file:
        line = file.readline(1000).decode("utf-8", "replace").strip()
    return _IN_CACHES.get(line.rpartition("-")[2])


def calibrator(network, profiles, data, cache, algorithm, logger):
    """A calibrator of the data, the cache, or both; None: nothing is asked for. `error`: what it raised. `algorithm`: of option "calibration"."""
    if data is None and cache is None:
        if algorithm is not None:
            raise ValueError("calibration_algorithm: there is neither calibration_data nor calibration_cache")
        return None
    if algorithm is not None and algorithm not in _BASES:
        raise ValueError(f"calibration_algorithm: '{algorithm}' is none of {', '.join(_BASES)}")
    cached = cache is not None and os.path.exists(cache)
    if data is None and not cached:
        raise ValueError(f"calibration_cache: '{os.fspath(cache)}' is not there, and there is no calibration_data to make it of")
    if cached and data is not None:
        logger.log(_wootz.ILogger.Severity.WARNING,
                   f"calibration_cache: '{os.fspath(cache)}' is there: calibration_data is only looked at if another algorithm wrote it")
    if algorithm is None:
        algorithm = (_algorithm_of(cache) if cached else None) or "least_error"
    optimum = {name: opt for name, (_, opt, _) in (profiles[0] if profiles else {}).items()}
    tensors = [network.get_input(i) for i in range(network.num_inputs)]
    inputs = Inputs("calibration_data", {t.name: tuple(optimum.get(t.name, t.shape)) for t in tensors},
                    {t.name: nptype(t.dtype) for t in tensors})

    base = getattr(_wootz, _BASES[algorithm], None)
    if base is None:
        raise ValueError("calibration: level 11 of the API has none")

    class DataCalibrator(base):
        error = None

        def __init__(self):
            super().__init__()
            self.algorithm = algorithm
            self.batches = inputs.all_batches(() if data is None else data)

        def get_batch_size(self):
            return inputs.batch_size()

        def get_batch(self, names):
            try:
                batch = next(self.batches, None)
            except Exception as error:
                self.error = error
                raise
            return None if batch is None else [np.atleast_1d(batch[name]) for name in names]

        def read_calibration_cache(self):
            if not cached:
                return None
            with open(cache, "rb") as file:
                return file.read()

        def write_calibration_cache(self, text):
            if cache is not None:
                with open(cache, "wb") as file:
                    file.write(text)

    return DataCalibrator()
