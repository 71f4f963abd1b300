"""What benches that make one row a model have in common: their options, and how rows are shown and kept."""
import json
import pathlib


def add_options(parser, models, threads_of="of each runtime"):
    """FOLDER and the options of every such bench; `models`: those that are run by default."""
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default=models)
    parser.add_argument("--threads", type=int, default=2, help=threads_of)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--json", type=pathlib.Path)


def show(rows, file):
    """Prints each row as it comes, one line of JSON, and keeps all so far in the file, unless None."""
    kept = []
    for row in rows:
        kept.append(row)
        print(json.dumps(row), flush=True)
        if file:
            file.write_text(json.dumps(kept, indent=1) + "\n")
