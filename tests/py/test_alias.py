"""`python -m wootz.alias`: a package `tensorrt` with the names of a level, and nothing in the way of a real one. pip's side of it is
tested where the package is installed (wheel_cases.py)."""
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

import pytest
import wootz
from wootz import _levels, alias

PACKAGE = pathlib.Path(wootz.__file__).parents[1]


def python(code, *paths, **kwargs):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": ":".join(map(str, (*paths, PACKAGE)))}, **kwargs)


def command(*arguments, paths=()):
    return subprocess.run([sys.executable, "-m", "wootz.alias", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": ":".join(map(str, (*paths, PACKAGE)))})


@pytest.mark.parametrize("level", [10, 11])
def test_names_are_those_of_the_level(level, tmp_path):
    done = command("--level", level, "--target", tmp_path)
    assert done.returncode == 0 and str(tmp_path) in done.stdout, done.stderr
    done = python("import tensorrt, json, sys; print(json.dumps([tensorrt.__version__, sorted(tensorrt.__all__),"
                  " tensorrt.Builder.__module__, len(tensorrt.BuilderFlag.__members__)]))", tmp_path)
    assert done.returncode == 0, done.stderr
    version, names, module, flags = json.loads(done.stdout)
    package = _levels.package(level)
    assert version == package.__version__ and version.startswith(f"{level}.")
    assert {name for name in _levels.names(level) if name != "plugin"} == set(names) - {"plugin"}
    assert flags == len(package.BuilderFlag.__members__) and module == package.Builder.__module__
    (found,) = importlib.metadata.distributions(name="tensorrt", path=[str(tmp_path)])
    assert found.version == version and found.read_text("INSTALLER").strip() == "wootz.alias"


@pytest.mark.parametrize("level", [10, 11])
def test_the_other_packages_of_tensorrts_are_there(level, tmp_path):
    alias.install(level, tmp_path)
    code = ("import tensorrt, tensorrt_bindings, tensorrt_lean, tensorrt_dispatch, tensorrt_libs, tensorrt.plugin as trtp\n"
            "import tensorrt.tensorrt as itself\n"
            "assert tensorrt_bindings.Builder is tensorrt_lean.Builder is tensorrt_dispatch.Builder is tensorrt.Builder is itself.Builder\n"
            "assert trtp is tensorrt.plugin and trtp.register and trtp.TensorDesc\nprint(trtp.__name__)")
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ("wootz.plugin" if level == 10 else "wootz._level_11.plugin")
    links = {path.name: path.resolve().name for path in (tmp_path / "tensorrt_libs").glob("*.so.*")}
    assert links[f"libnvinfer.so.{level}"] == "libwootz.so" and links[f"libnvinfer_lean.so.{level}"] == "libwootz_runtime.so"


def test_it_is_replaced_and_removed_without_a_trace(tmp_path):
    (tmp_path / "other.py").write_text("")
    alias.install(10, tmp_path)
    python("import tensorrt.plugin, tensorrt_lean", tmp_path)  # leaves compiled files
    alias.install(11, tmp_path)
    assert [each.version.split(".")[0] for each in importlib.metadata.distributions(name="tensorrt", path=[str(tmp_path)])] == ["11"]
    assert command("--remove", "--target", tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["other.py"]
    done = command("--remove", "--target", tmp_path)
    assert done.returncode == 1 and "there is no alias" in done.stderr


def real(folder, name, distribution=None):
    """A package of this name that pip has installed."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("real = True\n")
    if distribution:
        info = folder / f"{distribution}-10.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 10.0\n")
        (info / "INSTALLER").write_text("pip\n")


@pytest.mark.parametrize("name, distribution", [("tensorrt", "tensorrt"), ("tensorrt", None), ("tensorrt_bindings", None), ("tensorrt_libs", None)])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_real_one_is_left_alone(name, distribution, elsewhere, tmp_path):
    site, other = tmp_path / "site", tmp_path / "other"
    place = other if elsewhere else site
    real(place, name, distribution)
    before = sorted(tmp_path.rglob("*"))
    done = command("--target", site, paths=[other] if elsewhere else [])
    assert done.returncode == 1 and f"a real {name}" in done.stderr, done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    if distribution and not elsewhere:
        done = command("--remove", "--target", site)
        assert done.returncode == 1 and "a real tensorrt 10.0" in done.stderr


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(alias.os, "access", lambda path, mode: False)  # the tests may run as root
    with pytest.raises(alias.AliasError, match="cannot be written to"):
        alias.install(10, tmp_path / "site")


def test_nothing_is_written_where_the_libraries_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(alias, "__file__", str(tmp_path / "wootz/alias.py"))
    with pytest.raises(alias.AliasError, match="libwootz.so is not in"):
        alias.install(10, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_wrong_levels_are_refused():
    done = command("--level", 9)
    assert done.returncode == 2 and "invalid choice" in done.stderr
