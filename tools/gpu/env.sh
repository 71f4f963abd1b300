# Sourced by the scripts here: where the CUDA libraries are, when they come with Python's packages rather than a toolkit.
python=${PYTHON:-python3}
folders=$("$python" - <<'P' 2>/dev/null || true
import glob, os, site, sys
roots = set(site.getsitepackages() + [p for p in sys.path if p.endswith("site-packages")])
print(":".join(sorted({os.path.dirname(f) for r in roots for f in glob.glob(r + "/nvidia/*/lib/lib*.so.*")})))
P
)
export WOOTZ_CUDA_PATH=${WOOTZ_CUDA_PATH:-$folders}
export LD_LIBRARY_PATH=${folders:+$folders:}${LD_LIBRARY_PATH:-}
