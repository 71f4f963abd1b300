"""What a call through torch.compile looks at before it takes an engine: whether the weights are those that it was built with. Anything that counts its
changes as torch's tensors do will serve; test_torch.py has torch's own."""
import gc
import weakref

import pytest
from wootz import _wootz


class Tensor:
    def __init__(self, version=0):
        self.count = version

    @property
    def _version(self):
        if self.count is None:
            raise RuntimeError("made in inference mode")
        return self.count


def test_other_tensors_and_other_versions_are_seen():
    a, b = Tensor(), Tensor(7)
    seen = _wootz._SameTensors([1, 3], (a, b))
    assert seen.given((None, a, 5, b)) and seen.given((b, a, None, b, a)) and seen.unchanged()
    for others in ((None, b, 5, a), (None, Tensor(), 5, b), (None, a, 5), ()):
        assert not seen.given(others)
    b.count = 8
    assert seen.given((None, a, 5, b)) and not seen.unchanged()
    b.count = 7
    assert seen.unchanged()
    a.count = 1
    assert not seen.unchanged()


def test_tensors_without_a_version_count_as_unchanged():
    a, b = Tensor(None), Tensor(3)
    seen = _wootz._SameTensors([0, 1], (a, b))
    assert seen.unchanged()
    b.count = 4
    assert not seen.unchanged()
    b.count = None  # which it had
    assert not seen.unchanged()


def test_they_are_kept_and_let_go():
    """An object that is gone would leave its place to another one."""
    a = Tensor()
    gone = weakref.ref(a)
    seen = _wootz._SameTensors([0], (a,))
    del a
    gc.collect()
    assert gone() is not None
    del seen
    gc.collect()
    assert gone() is None


def test_none_are_always_the_same():
    assert _wootz._SameTensors([], ()).given(()) and _wootz._SameTensors([], ()).unchanged()
    with pytest.raises(ValueError, match="as many"):
        _wootz._SameTensors([0], ())
