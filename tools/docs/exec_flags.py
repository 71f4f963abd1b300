"""Writes the table of `wootz exec`'s flags in docs/command-line.md, from what the command itself says of them.

    .venv/bin/python tools/docs/exec_flags.py            with --check: only says whether it is up to date
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "command-line.md"
BEGIN, END = "<!-- tools/docs/exec_flags.py -->\n", "<!-- end -->\n"


def table():
    build = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release"))
    text = subprocess.run([build / "bin" / "wootz", "exec", "--help"], capture_output=True, text=True, check=True).stdout
    lines = []
    for group, body in re.findall(r"^(\S.*):\n((?:  .*\n)+)", text, re.M):
        lines += ["", f"**{group}**", "", "| flag | what it does |", "| --- | --- |"]
        for flag, what in re.findall(r"^  (--.*)\n      (.*)\n", body, re.M):
            names, _, value = flag.partition("=")
            shown = ", ".join(f"`{name}`" for name in names.split(", "))
            if value:
                shown = shown[:-1] + "=" + value.replace("|", "\\|") + "`"
            lines.append(f"| {shown} | {what.replace('|', chr(92) + '|')} |")
    return "\n".join(lines[1:]) + "\n"


def main():
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    wanted = page[:begin] + "\n" + table() + "\n" + page[end:]
    if "--check" in sys.argv:
        return None if wanted == page else "docs/command-line.md is older than the flags: run tools/docs/exec_flags.py"
    PAGE.write_text(wanted)


if __name__ == "__main__":
    sys.exit(main())
