"""Each block of code in README.md and docs/ is run by a test, or is listed in code_blocks.txt with the reason why not; all of them are well-formed."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))]
LANGUAGES = ("cpp", "python", "bash")
LIST = pathlib.Path(__file__).resolve().parent / "code_blocks.txt"


def blocks():
    """{(page, language, which of that language): text}."""
    found = {}
    for page in PAGES:
        counts = dict.fromkeys(LANGUAGES, 0)
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S):
            assert language, f"{page}: a block without a language (text, if it is none): {text[:60]!r}"
            if language in LANGUAGES:
                counts[language] += 1
                found[page, language, counts[language]] = text
    return found


def listed():
    rows = [line.split(None, 3) for line in LIST.read_text().splitlines() if line and line[0] != "#"]
    return {(page, language, int(which)): how for page, language, which, how in rows}


def test_every_block_is_in_the_list():
    there, known = set(blocks()), set(listed())
    assert there == known, f"not listed: {sorted(there - known)}; no longer there: {sorted(known - there)}"


@pytest.mark.parametrize("how", sorted(set(listed().values())), ids=lambda how: re.sub(r"\W+", " ", how)[:40])
def test_what_the_list_says_exists(how):
    if not how.startswith("- "):
        file, _, name = how.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text()
    for file in re.findall(r"\b(?:tests|examples|tools)/[\w./]+\w", how):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("key", [key for key in blocks() if key[1] == "python"], ids=lambda key: f"{key[0]} {key[2]}")
def test_python_is_well_formed(key):
    compile(blocks()[key], str(key), "exec", flags=0x2000)  # with await at the top level: PyCF_ALLOW_TOP_LEVEL_AWAIT


@pytest.mark.parametrize("key", [key for key in blocks() if key[1] == "bash"], ids=lambda key: f"{key[0]} {key[2]}")
def test_shell_is_well_formed(key):
    done = subprocess.run(["bash", "-n"], input=blocks()[key], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
