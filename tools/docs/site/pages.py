"""Lays out the pages that exist as text: the guide, the pages at the repository's root, the gallery, and each file that they link to."""
import ast
import html
import pathlib
import posixpath
import re
import shutil

# Folders and files of the repository, and the pages that they become.
PAGES = {"README.md": "index", "ARCHITECTURE.md": "project/architecture", "CONTRIBUTING.md": "project/contributing", "docs/README.md": "guide/index",
         "examples/README.md": "examples/index", "examples/python/README.md": "examples/python", "examples/gallery/README.md": "gallery/index"}
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".cuh": "cuda", ".cu": "cuda", ".sh": "bash", ".json": "json", ".cmake": "cmake"}
PICTURES = (".svg", ".png")
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#:]+)(#[^)\s]*)?\)")


class Site:
    """Where pages go, and what is known of the repository. Sources that are linked to become pages as they are met."""

    def __init__(self, root, folder, pictures=None):
        self.root, self.folder, self.pictures = root, folder, pictures
        self.pages = dict(PAGES)
        for file in sorted((root / "docs").glob("*.md")):
            self.pages.setdefault(f"docs/{file.name}", f"guide/{file.stem}")
        for file in sorted((root / "examples/gallery").glob("*.py")):
            if file.stem != "common":
                self.pages[f"examples/gallery/{file.name}"] = f"gallery/{file.stem}"
        self.sources = {}

    def put(self, page, text, suffix=".md"):
        path = self.folder / (page + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def target(self, page, path):
        """What a page's link to a file of the repository becomes."""
        if path not in self.pages:
            if not (self.root / path).exists():
                raise SystemExit(f"{page}: a link to {path}, which does not exist")
            self.sources.setdefault(path, f"source/{path}")
        return posixpath.relpath(self.pages.get(path) or self.sources[path], posixpath.dirname(page)) + ".md"

    def with_links(self, text, file, page):
        """The text of the repository's `file` with links that work on the site. Code stays as it is."""
        def link(found):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(file), found[2]))
            if path.endswith(PICTURES):
                return f"{found[1]}({self.picture(path, page)})"
            return f"{found[1]}({self.target(page, path)}{found[3] or ''})"

        def name(found):
            return f"[`{found[1]}`]({self.target(page, found[1])})" if found[1] in self.pages else found[0]

        parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
        for index in range(0, len(parts), 2):
            parts[index] = _LINK.sub(link, parts[index])
            parts[index] = re.sub(r"(?<!\[)`((?:docs/[\w-]+|ARCHITECTURE|CONTRIBUTING)\.md)`", name, parts[index])
        return "".join(parts)

    def picture(self, path, page):
        target = self.folder / "pictures" / posixpath.basename(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.root / path, target)
        return posixpath.relpath(f"pictures/{target.name}", posixpath.dirname(page))


def write_guide(site, only=None):
    for file, page in site.pages.items():
        if not file.endswith(".md") or file in ("README.md", "examples/gallery/README.md") or not (only is None or file in only):
            continue
        text = site.with_links((site.root / file).read_text(), file, page)
        if page.endswith("/index"):
            text += contents(site, posixpath.dirname(page), text)
        site.put(page, text)


def contents(site, folder, text, hidden=True):
    """The pages of a folder in the order in which its index links to them, then the others."""
    inside = [posixpath.basename(page) for page in site.pages.values() if posixpath.dirname(page) == folder and not page.endswith("/index")]
    order = [name for name in dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md", text)) if name in inside]
    listed = [*order, *(name for name in inside if name not in order)]
    return "\n\n```{toctree}\n" + (":hidden:\n" if hidden else "") + "\n" + "\n".join(listed) + "\n```\n"


def write_index(site, parts):
    """The first page: README, and the contents."""
    text = site.with_links((site.root / "README.md").read_text(), "README.md", "index")
    site.put("index", text + "\n```{toctree}\n:hidden:\n:maxdepth: 2\n\n" + "\n".join(parts) + "\n```\n")


def pictures_of(site, name):
    """An example's pictures, copied beside the pages."""
    found = []
    for file in sorted(site.pictures.glob(f"{name}*")) if site.pictures and site.pictures.is_dir() else []:
        if file.suffix in PICTURES and re.fullmatch(rf"{name}(_\w+|-\w+)?", file.stem):
            target = site.folder / "gallery/pictures" / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            found.append(f"pictures/{file.name}")
    return found


def write_gallery(site):
    index = "examples/gallery/README.md"
    text = (site.root / index).read_text()
    rows = re.findall(r"^\| \[([^\]]+)\]\((\w+)\.py\) \| (.*) \|$", text, re.M)
    cards = ["\n<div class=\"gallery\">"]
    for title, name, words in rows:
        file, page = f"examples/gallery/{name}.py", f"gallery/{name}"
        source = (site.root / file).read_text()
        tree = ast.parse(source)
        said = site.with_links(ast.get_docstring(tree), file, page)
        pictures = pictures_of(site, name)
        shown = "".join(f"\n![{title}]({picture})\n" for picture in pictures)
        head, _, rest = said.partition("\n")
        code = "\n".join(source.splitlines()[tree.body[0].end_lineno:])
        site.put(page, f"{head}\n{shown}\n{rest}\n\n## How to run it\n\n```bash\npython examples/gallery/{name}.py --out pictures\n```\n\n"
                       f"[What the examples share]({site.target(page, 'examples/gallery/common.py')}) has its arguments, comparisons and pictures.\n\n"
                       f"## Source\n\n```python\n{code.strip()}\n```\n")
        image = f'<img src="{pictures[0]}" alt="">' if pictures else ""
        cards.append(f'<a href="{name}.html">{image}<strong>{html.escape(title)}</strong>{html.escape(words)}</a>')
    cards.append("</div>\n")
    before, after = re.split(r"\n\| example \| [^\n]*\n\|[^\n]*\n(?:\|[^\n]*\n)+", text)
    listed = "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(name for _, name, _ in rows) + "\n```\n"
    # The cards are HTML as it is to be: their pictures are copied by the site's builder, since Sphinx does not see them.
    site.put("gallery/index", site.with_links(before, index, "gallery/index") + "\n".join(cards) + site.with_links(after, index, "gallery/index") + listed)


def write_sources(site):
    """Files that pages link to, as pages with their text."""
    for path, page in sorted(site.sources.items()):
        file = site.root / path
        if file.is_dir():
            listed = "\n".join(f"- `{each.name}`" for each in sorted(file.iterdir()) if not each.name.startswith("."))
            text = f"---\norphan: true\n---\n\n# {path}/\n\nA folder of the repository:\n\n{listed}\n"
        else:
            language = LANGUAGES.get(pathlib.PurePosixPath(path).suffix, "text")
            text = f"---\norphan: true\n---\n\n# {path}\n\nA file of the repository, as it is there.\n\n````{language}\n{file.read_text()}\n````\n"
        site.put(page, text)
