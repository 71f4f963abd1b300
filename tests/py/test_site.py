"""The site of the documentation (tools/docs/site): it is made without a warning, and every public name is on one of its pages."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "tools/docs/site"
sys.path[:0] = [str(SITE), str(ROOT / "tools/api")]

import cpp_pages  # noqa: E402
import headers  # noqa: E402
import python_pages  # noqa: E402
import rst  # noqa: E402
import surface  # noqa: E402
import surface_python  # noqa: E402


def test_the_reader_of_headers_sees_both_levels():
    text = """// A header.
/// Works.
class IThing : public Base {
 public:
  /// Two that
  /// share a comment.
  virtual int getA() const noexcept = 0;
  virtual void setA(int a /* ignored */, const char* /*name*/ = nullptr) noexcept = 0;

  WOOTZ_UNTIL_10
  TRT_DEPRECATED virtual bool old() noexcept { return true; }

 private:
  int hidden;
};
#if NV_TENSORRT_MAJOR >= 11
enum class Kind : int32_t {
  /// The first.
  kONE = WOOTZ_BY_LEVEL(2, 1),
};
#else
struct Ten {
  int32_t size{3};
};
#endif
"""
    ten, eleven = (headers.Reader(headers.at_level(text, level)).read() for level in (10, 11))
    assert [each.name for each in ten] == ["IThing", "Ten"] and [each.name for each in eleven] == ["IThing", "Kind"]
    assert [each.name for each in ten[0].members] == ["getA", "setA", "old"] and ten[0].members[2].deprecated
    assert [each.name for each in eleven[0].members] == ["getA", "setA"]
    assert ten[0].comment == ["Works."] and ten[0].members[0].comment == ["Two that", "share a comment."]
    assert ten[0].members[0].group == ten[0].members[1].group != ten[0].members[2].group
    assert ten[0].members[1].text == "virtual void setA(int a, const char* name = nullptr) noexcept = 0"
    assert eleven[1].members[0].text == "kONE = 1" and ten[1].members[0].name == "size"


def test_prose_becomes_restructured_text():
    assert rst.inline("of `size` and 2*x, a_ or _b|") == "of ``size`` and 2\\*x, a\\_ or _b\\|"
    assert rst.inline("see ILayer::getName().", "cpp:any") == "see :cpp:any:`ILayer::getName`."
    assert rst.inline("ILayer's", "cpp:any nvinfer1") == ":cpp:any:`ILayer <nvinfer1::ILayer>`'s"
    assert rst.block(["One", "two.", "", "  key  text", "", "Three."]) == ["One two.", "", "::", "", "   key  text", "", "Three.", ""]


def wanted(level):
    """Every name in the list of a level: (scope, name), the versions of interfaces left out."""
    found, listed = set(), surface.read_list((surface.FACTS / surface.LISTS[level]).read_text())

    def add(name):
        scope, _, last = re.sub(r"v_\d_\d::", "", name).rpartition("::")
        found.add((scope, last))

    for name in listed.names() - {"nvinfer1::impl::EnumMaxImpl"}:
        add(name)
    for name, members in listed.members.items():
        for member in members:
            plain = member.partition("(")[0]
            if plain != "~":
                add(f"{name}::{name.rpartition('::')[2] if plain == 'constructor' else plain}")
    for name, (_, numbers) in listed.enums.items():
        for enumerator in numbers:
            add(f"{name}::{enumerator}")
    for name in listed.functions:
        add(name.partition("(")[0])
    return found


@pytest.mark.parametrize("level", headers.LEVELS)
def test_every_declaration_of_the_headers_is_read(level):
    found = set()

    def walk(declarations):
        for each in declarations:
            if level in each.levels:
                found.add((re.sub(r"v_\d_\d::", "", each.scope), each.name))
            walk(each.members)

    for _, declarations in headers.public_headers(ROOT / "include").values():
        walk(declarations)
    missing = wanted(level) - found
    assert not missing and len(found) > 1500, sorted(missing)


def test_every_public_name_of_cpp_is_on_a_page(tmp_path):
    assert cpp_pages.write(ROOT / "include", tmp_path) > 70
    text = "\n".join(path.read_text() for path in tmp_path.glob("*.rst"))
    words = set(re.findall(r"\w+", text))
    for level in headers.LEVELS:
        assert not {name for _, name in wanted(level)} - words
    heads = set(re.findall(r"^ *\.\. cpp:(?:class|enum-class|type):: (?:template <.*?> ?)?(\w+)", text, re.M))
    types = {re.sub(r"v_\d_\d::", "", name).rpartition("::")[2] for level in headers.LEVELS
             for name in surface.read_list((surface.FACTS / surface.LISTS[level]).read_text()).names()}
    assert not types - heads - {"EnumMaxImpl"}
    exported = set(re.findall(r"^WOOTZ_EXPORT [\w ]*?\*?\s*\*?(wootz_\w+)\(", (ROOT / "include/wootz/extensions.h").read_text(), re.M))
    assert len(exported) > 40 and not exported - words


def test_every_public_name_of_python_is_on_a_page(tmp_path):
    python_pages.write(ROOT, tmp_path)
    text = "\n".join(path.read_text() for path in tmp_path.glob("*.rst"))
    heads = set(re.findall(r"^ *(?:\.\. py:\w+:: |                 +)([\w.]+)", text, re.M))
    for level, path in surface_python.LISTS.items():
        listed = surface_python.read_list(path.read_text())
        names = {*listed.classes, *listed.functions, *listed.enums, *(value for values in listed.enums.values() for value in values)}
        names |= {member for _, members in listed.classes.values() for member in members if not member.startswith("__")}
        assert not names - heads, level
    own = set(re.findall(r'"(\w+)"', re.search(r"_OWN = frozenset\(\((.*?)\)\)", (ROOT / "python/wootz/_levels.py").read_text(), re.S)[1]))
    assert len(own) > 15 and not own - heads - {"torch", "onnx_backend"}, own - heads


def test_docstrings_come_from_the_package():
    package = python_pages.Package()
    assert package.doc("ICudaEngine", "on_device")[0].startswith("Whether addresses that contexts take")
    assert package.doc("ICudaEngine", "device_memory_size_v2") == []  # none of its own: the header's comment is taken
    assert package.doc("no_such_class", "x") == []


@pytest.mark.slow
def test_the_site_is_made_without_a_warning(tmp_path):
    """Every page in its source form: Sphinx finds what is not well-formed, and links and anchors that lead nowhere."""
    assert importlib.util.find_spec("sphinx"), "./dev setup installs it"
    done = subprocess.run([sys.executable, str(SITE / "build.py"), "--check", "--out", str(tmp_path)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
