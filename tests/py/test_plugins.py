"""`wootz plugin new`: what it writes builds, and its own test passes."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"


def call(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kwargs)


def test_new_project_builds_and_passes(tmp_path):
    done = call(WOOTZ, "plugin", "new", "Thrice", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    project, build = tmp_path / "Thrice", tmp_path / "build"
    assert sorted(f.name for f in project.iterdir()) == ["CMakeLists.txt", "plugin.cpp", "plugin_test.cpp"]
    assert not any("@" in f.read_text() for f in project.iterdir())
    configured = call("cmake", "-S", project, "-B", build, f"-DWOOTZ_INCLUDE_DIR={ROOT / 'include'}",
                      f"-DWOOTZ_LIBRARY={BUILD / 'lib' / 'libwootz.so'}")
    assert configured.returncode == 0, configured.stdout + configured.stderr
    made = call("cmake", "--build", build)
    assert made.returncode == 0, made.stdout + made.stderr
    tested = call("ctest", "--test-dir", build, "--output-on-failure", "-V")
    assert tested.returncode == 0 and "Thrice works" in tested.stdout, tested.stdout + tested.stderr


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("mine")
    done = call(WOOTZ, "plugin", "new", "Thrice", "--dir", tmp_path / "kept")
    assert done.returncode == 1 and "not empty" in done.stderr, done.stderr
    done = call(WOOTZ, "plugin", "new", "no-name", "--dir", tmp_path / "other")
    assert done.returncode == 2 and "no-name" in done.stderr, done.stderr
    assert not (tmp_path / "other").exists()
