"""Builds the site of the documentation: guide, gallery, references, with search. `./dev docs` calls it.

    PYTHONPATH=build/release/python .venv/bin/python tools/docs/site/build.py [--out build/docs] [--run] [--only cpp,...] [--check]

The pages are laid out in <out>/source and made in <out>/html by Sphinx, for which every warning is an error. With --run, the examples of the gallery run
first, for their pictures, which stay in <out>/pictures for later builds.
"""
import argparse
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys

import cpp_pages
import pages

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PARTS = ("guide", "gallery", "examples", "python", "cpp", "project")


def run_gallery(pictures):
    """Every example in its whole form; one that fails ends the build."""
    pictures.mkdir(parents=True, exist_ok=True)
    for file in sorted((ROOT / "examples/gallery").glob("*.py")):
        if file.stem == "common":
            continue
        print(f"running {file.relative_to(ROOT)}", flush=True)
        done = subprocess.run([sys.executable, str(file), "--out", str(pictures)], env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode != 0:
            raise SystemExit(f"{file.name} ended with {done.returncode}")


def lay_out(out, parts):
    """Writes all sources below out/source; what Sphinx keeps between builds stays valid, since pages that are the same keep their times."""
    fresh, source = out / "source.new", out / "source"
    shutil.rmtree(fresh, ignore_errors=True)
    site = pages.Site(ROOT, fresh, out / "pictures")
    for part in ("cpp", "python"):
        if part not in parts:
            site.put(f"{part}/index", f"# {part}\n\nLeft out of this build.\n")
    if "cpp" in parts:
        cpp_pages.write(ROOT / "include", fresh / "cpp")
    if "python" in parts:
        import python_pages  # which needs the built package
        python_pages.write(ROOT, fresh / "python")
    pages.write_guide(site)
    pages.write_gallery(site)
    site.put("project/index", "# The project\n\n```{toctree}\n\narchitecture\ncontributing\n```\n")
    pages.write_index(site, [f"{part}/index" for part in PARTS])
    pages.write_sources(site)
    shutil.copytree(HERE / "static", fresh / "_static")
    _replace(fresh, source)
    shutil.copyfile(HERE / "conf.py", source / "conf.py")
    return source


def _replace(fresh, old):
    """Makes the folder `old` what `fresh` is, without touching files that are the same."""
    kept = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    for path in sorted(old.rglob("*"), reverse=True) if old.is_dir() else []:
        if path.is_file() and path.relative_to(old) not in kept:
            path.unlink()
    for name in kept:
        target = old / name
        if not target.exists() or target.read_bytes() != (fresh / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / name, target)
    shutil.rmtree(fresh)


def build(out, parts, jobs, check):
    source, html = lay_out(out, parts), out / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy" if check else "html", "-j", str(jobs), "-d", str(out / "doctrees"),
               str(source), str(html)]
    done = subprocess.run(command)
    if done.returncode != 0:
        raise SystemExit("the site has errors: see the messages above")
    if check:
        return html
    if (source / "gallery/pictures").is_dir():
        shutil.copytree(source / "gallery/pictures", html / "gallery/pictures", dirs_exist_ok=True)
    print(f"built {html}/index.html, {sum(1 for _ in html.rglob('*.html'))} pages")
    return html


def serve(html, port):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{port}/ (end with ^C)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/docs")
    parser.add_argument("--run", action="store_true", help="run the gallery's examples first, for their pictures")
    parser.add_argument("--only", default="cpp,python", help="which references to make: cpp, python, both or none")
    parser.add_argument("--check", action="store_true", help="look for errors and broken links, and write no page")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--serve", type=int, nargs="?", const=8000, metavar="PORT", help="then serve it on this machine (8000)")
    chosen = parser.parse_args()
    if chosen.run:
        run_gallery(chosen.out / "pictures")
    html = build(chosen.out.resolve(), set(filter(None, chosen.only.split(","))), chosen.jobs, chosen.check)
    if chosen.serve is not None and not chosen.check:
        serve(html, chosen.serve)


if __name__ == "__main__":
    main()
