#!/usr/bin/env bash
# Checks the cuda backend on a machine with an NVIDIA GPU, and times it beside PyTorch. Uses built programs; no network.
#
#   tools/gpu/check.sh [PART...]       parts: conformance kernels replay devices dynamic faults programs examples plugins refit io
#                                      deviceless streams models sanitizer peers compile (default: all but compile)
#
# Environment: BIN (folder of the test programs and wootz, default build/release/bin), OUT (where logs and results go,
# default build/gpu), MODELS ("resnet50:1 bert_base_int8:1 bert_base_fp8:1 ...": the latter are quantized, and always in mode
# int8 or fp8, that is Q/DQ in 8 bits and --fp16 for the rest), MODES ("tf32 fp16 bf16"), MADE (folder of models made before, by models.py),
# DEVICE (what `wootz devices` calls this GPU, default h200), DYNAMIC (models to build with an open batch size;
# WOOTZ_DYNAMIC_LEVEL: their builder level), SHARES (processes of the part kernels, default 8), EACH (cases of each op under the
# sanitizer, default 3), PYTHON (a Python with torch, onnx, transformers, onnxruntime).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
BIN=${BIN:-$here/../../build/release/bin}
OUT=${OUT:-$here/../../build/gpu}
MODELS=${MODELS:-resnet50_init:1 resnet50:1 resnet50:32 bert_base:1 bert_base:32 efficientnet_b4:1 yolov5s:1 vit_b16:1}
MODES=${MODES:-tf32 fp16 bf16}
. "$here/env.sh"
export WOOTZ_SOURCE_DIR=${WOOTZ_SOURCE_DIR:-$here/../..}  # where tests find their data
export LD_LIBRARY_PATH=$BIN:$BIN/../lib:$LD_LIBRARY_PATH
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(conformance kernels replay devices dynamic faults programs examples plugins refit io deviceless \
    streams models sanitizer peers)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$OUT"
failed=0
table=()
row() {
  echo "$1"
  table+=("$1")
}

conformance() {
  timeout 300 "$BIN/conformance_e2e" --gtest_filter='Cuda*:Quantized*Cuda*' >"$OUT/conformance.log" 2>&1 || failed=1
  grep -E 'cuda:|PASSED|FAILED  ' "$OUT/conformance.log" | head -8
}

# Each line of the table of kernels on the problems of its family, in shares beside each other: most of it is compiling.
kernels() {
  local share shares=${SHARES:-8} running=()
  for ((share = 0; share < shares; ++share)); do
    GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$share timeout 500 "$BIN/kernels_e2e" --gtest_filter='CudaSlow*' \
      >"$OUT/kernels.$share.log" 2>&1 &
    running+=($!)
  done
  for share in "${running[@]}"; do wait "$share" || failed=1; done
  row "kernels: $(cat "$OUT"/kernels.*.log | grep -c '\[       OK') lines right$(grep -h '\[  FAILED' "$OUT"/kernels.*.log | sort -u | head -6 | cut -c1-120)"
}

# Recording and replay, a capture by the application, batch sizes visited again; then errors, each provoked.
replay() { tests_of replay 'CudaReplay*:CudaStreams*' '^batch|PASSED|FAILED  '; }
faults() { tests_of faults 'CudaFaults*' 'PASSED|FAILED  '; }
tests_of() {
  timeout 200 "$BIN/cuda_e2e" --gtest_filter="$2" >"$OUT/$1.log" 2>&1 || failed=1
  grep -E "$3" "$OUT/$1.log" | head -8
}

# Debug tensors and taps, outputs whose size is found; then Python's memory of the device and what the command line dumps.
io() {
  tests_of io 'CudaListeners*:*FoundOutputs*' 'PASSED|FAILED  '
  PYTHONPATH=$BIN/../python WOOTZ_BUILD_DIR=$BIN/.. timeout 400 "$python" -m pytest -q -p no:cacheprovider -rs \
    "$here/../../tests/py/test_device.py" -k gpu >"$OUT/io.python.log" 2>&1 || failed=1
  grep -E 'GPU|passed|failed|skipped' "$OUT/io.python.log" | tail -4
}

# A program as one is written for TensorRT, with no setting; addresses passed by mistake; trtexec's flags.
programs() {
  tests_of programs 'CudaProgram*:CudaAddresses*' 'PASSED|FAILED  '
  timeout 200 "$BIN/cli_test" >"$OUT/exec.log" 2>&1 || failed=1
  grep -E 'PASSED|FAILED  ' "$OUT/exec.log" | head -8
}

# The programs of examples/, by NVIDIA's own runtime library (CUDART: its folder, found beside the others if not given).
examples() {
  local each name right=0 wrong= runtime=${CUDART:-}
  [ -n "$runtime" ] || runtime=$(ls -d ${folders//:/ } 2>/dev/null | while read -r d; do ls "$d"/libcudart.so.* 2>/dev/null; done | head -1)
  [ -f "$runtime" ] && runtime=$(dirname "$runtime")
  for each in "$BIN"/example_*; do
    name=$(basename "$each")
    if (cd "$work" && LD_LIBRARY_PATH=$runtime:$LD_LIBRARY_PATH timeout 100 "$each" >"$OUT/$name.log" 2>&1); then
      right=$((right + 1))
    else
      wrong+=" $name" failed=1
      tail -2 "$OUT/$name.log" | cut -c1-300
    fi
  done
  row "examples: $right right${wrong:+, wrong:$wrong}"
}

# Networks with plugins of every kind on the device, in the recorded graph and out of it; then the same under the memory
# checker, which is not asked of calls that fail: the tests make some.
plugins() {
  local filter='PluginsOnDevice*:QuickOnDevice*:*/cuda'
  timeout 200 "$BIN/plugins_e2e" --gtest_filter="$filter" >"$OUT/plugins.log" 2>&1 || failed=1
  grep -E 'SKIPPED|PASSED|FAILED  ' "$OUT/plugins.log" | head -8
  command -v compute-sanitizer >/dev/null || return
  timeout 280 compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 "$BIN/plugins_e2e" \
    --gtest_filter="$filter" >"$OUT/sanitizer.plugins.log" 2>&1 || failed=1
  row "sanitizer plugins: $(grep 'ERROR SUMMARY' "$OUT/sanitizer.plugins.log" | tail -1 | sed 's/=* *//')"
}

# Whole models with other weights: a refitted plan against builds of the changed model with the same timing cache, one that
# can be refitted and one that cannot. The same bits, and no time lost.
refit() {
  for model in ${REFIT:-resnet50:1 bert_base:1 efficientnet_b4:1 resnet50_int8:1}; do
    name=${model/:/_}
    log=$OUT/refit.$name.log
    "$python" "$here/models.py" "$work" "$model" >"$log" 2>&1 &&
      "$python" "$here/reweight.py" "$work/$name.onnx" "$work/other.onnx" >>"$log" 2>&1 || { tail -3 "$log"; failed=1; continue; }
    inputs=()
    for file in "$work/$name".*.npy; do
      key=${file#"$work/$name."}
      inputs+=(-i "${key%.npy}=$file")
    done
    build=(timeout 300 "$BIN/wootz" build --device cuda --fp16 --timing-cache "$work/refit.cache")
    "${build[@]}" "$work/$name.onnx" --refit -o "$work/old.plan" >>"$log" 2>&1 &&
      "${build[@]}" "$work/other.onnx" --refit -o "$work/fresh.plan" >>"$log" 2>&1 &&
      "${build[@]}" "$work/other.onnx" -o "$work/plain.plan" >>"$log" 2>&1 &&
      "$BIN/wootz" refit "$work/old.plan" "$work/other.onnx" -o "$work/refitted.plan" >>"$log" 2>&1 ||
      { tail -3 "$log" | cut -c1-400; failed=1; continue; }
    for kind in old fresh plain refitted; do
      "$BIN/wootz" run "$work/$kind.plan" "${inputs[@]}" --output-dir "$work/$kind" >>"$log" 2>&1
    done
    same=
    for kind in fresh plain; do
      diff -rq "$work/refitted" "$work/$kind" >/dev/null && same+=" the same as $kind;" || { same+=" NOT AS $kind;"; failed=1; }
    done
    diff -rq "$work/refitted" "$work/old" >/dev/null && { same+=" NOTHING CHANGED;"; failed=1; }
    "$BIN/wootz" exec --loadEngine="$work/old.plan" --refitFromOnnx="$work/other.onnx" --timeRefit --skipInference >>"$log" 2>&1
    : >"$work/times"
    for _ in 1 2 3 4 5; do
      echo "$(ms_of "$work/refitted.plan") $(ms_of "$work/plain.plan")" >>"$work/times"
    done
    row "$("$python" - "$model" "$work/times" "$same $(grep -o 'average .*' "$log" | tail -1) a refit" <<'P'
import statistics, sys
refitted, plain = zip(*(map(float, line.split()) for line in open(sys.argv[2])))
ratio = statistics.median(a / b for a, b in zip(refitted, plain))
print(f"refit {sys.argv[1]:16}{sys.argv[3]}, {statistics.median(refitted):.4f} ms, {ratio:.3f} x one that cannot be refitted")
P
    )"
    rm -rf "$work"/{old,fresh,plain,refitted}{,.plan}
  done
}

# Engines on two GPUs from one process, where there are two.
devices() { tests_of devices 'CudaTwoDevices*' 'SKIPPED|ONE GPU|PASSED|FAILED  '; }

# One plan of real networks for batch 1 to 32: what first, second and later visits of each batch size cost.
dynamic() {
  local models=()
  for model in ${DYNAMIC:-resnet50 bert_base}; do
    "$python" "$here/models.py" "$work" "$model:dynamic" >"$OUT/dynamic.export.log" 2>&1 || { tail -3 "$OUT/dynamic.export.log"; failed=1; }
    models+=("$work/${model}_dynamic.onnx")
  done
  WOOTZ_DYNAMIC_MODELS="${models[*]}" timeout 400 "$BIN/cuda_e2e" --gtest_filter='CudaDynamic*' >"$OUT/dynamic.log" 2>&1 || failed=1
  grep -E 'built once|recordings|^dynamic|against|PASSED|FAILED  ' "$OUT/dynamic.log"
  while read -r line; do table+=("$line"); done < <(grep '^dynamic' "$OUT/dynamic.log")
}

ms_of() {
  "$BIN/wootz" bench "$1" --duration 1 --json >"$work/bench.json" 2>>"$log" || failed=1
  "$python" -c 'import json,sys; print("%.4f" % json.load(open(sys.argv[1]))["median_ms"])' "$work/bench.json" 2>>"$log"
}

# Plans made as on a machine without a GPU (there is no device 99 here), by heuristics and by the timing cache, against the
# plan tuned here.
deviceless() {
  for model in ${DEVICELESS:-resnet50:1 bert_base:1}; do
    name=${model/:/_}
    log=$OUT/deviceless.$name.log
    "$python" "$here/models.py" "$work" "$model" >"$log" 2>&1 || { tail -3 "$log"; failed=1; continue; }
    build=("$BIN/wootz" build "$work/$name.onnx" --fp16)
    without=(env WOOTZ_DEVICE=99)
    cache=$OUT/$name.fp16.cache
    "${build[@]}" -o "$work/tuned.plan" --device cuda --timing-cache "$cache" -v >>"$log" 2>&1 || failed=1
    "${without[@]}" "${build[@]}" -o "$work/guess.plan" --device "${DEVICE:-h200}" -v >>"$log" 2>&1 || failed=1
    for n in 1 2; do
      cp "$cache" "$work/copy"
      "${without[@]}" "${build[@]}" -o "$work/cache$n.plan" --device "${DEVICE:-h200}" --timing-cache "$work/copy" -v \
        >>"$log" 2>&1 || failed=1
    done
    same=$(cmp -s "$work/cache1.plan" "$work/cache2.plan" && echo same || echo DIFFER)
    [ "$same" = same ] || failed=1
    tuned=$(ms_of "$work/tuned.plan") guess=$(ms_of "$work/guess.plan") cached=$(ms_of "$work/cache1.plan")
    row "$("$python" - "$model" "$tuned" "$cached" "$guess" "$same" <<'P'
import sys
model, tuned, cached, guess, same = sys.argv[1], *map(float, sys.argv[2:5]), sys.argv[5]
good = cached <= 1.15 * tuned and guess <= 1.5 * tuned
print(f"deviceless {model:14} tuned {tuned:.4f} ms, by its cache {cached / tuned:.3f} x, by heuristics {guess / tuned:.3f} x, "
      f"two builds {same}{'' if good else '  TOO SLOW'}")
P
    )"
    [[ ${table[-1]} != *"TOO SLOW"* ]] || failed=1
    rm -f "$work"/*.plan
  done
}

# What auxiliary streams give: each network with none and with as many as the builder likes, timed in turns.
streams() {
  for model in ${STREAMS:-resnet50:1 inception_v3:1 yolov5s:1 efficientnet_b4:1}; do
    name=${model/:/_}
    log=$OUT/streams.$name.log
    "$python" "$here/models.py" "$work" "$model" >"$log" 2>&1 || { tail -3 "$log"; failed=1; continue; }
    for kind in one many; do
      few=()
      [ $kind = many ] || few=(--max-aux-streams 0)
      timeout 300 "$BIN/wootz" build "$work/$name.onnx" -o "$work/$kind.plan" --device cuda --fp16 -v \
        --timing-cache "$work/cache" "${few[@]}" >>"$log" 2>&1 || { tail -3 "$log" | cut -c1-400; failed=1; }
    done
    : >"$work/times"
    for _ in 1 2 3 4 5; do
      echo "$(ms_of "$work/one.plan") $(ms_of "$work/many.plan")" >>"$work/times"
    done
    row "$("$python" - "$model" "$work/times" "$(grep -a 'streams .*chosen' "$log" | tail -1 | grep -o 'streams [0-9x ]*')" <<'P'
import statistics, sys
one, many = zip(*(map(float, line.split()) for line in open(sys.argv[2])))
print(f"streams {sys.argv[1]:16} one {statistics.median(one):.4f} ms, chosen {statistics.median(many):.4f} ms: {sys.argv[3][:120]}")
P
    )"
    rm -f "$work"/*.plan
  done
}

# The results of a model on the CPU in FP32: on_cpu NAME FOLDER.
on_cpu() {
  inputs=()
  for file in "$work/$1".*.npy; do
    key=${file#"$work/$1."}
    inputs+=(-i "${key%.npy}=$file")
  done
  "$BIN/wootz" build "$work/$1.onnx" -o "$work/cpu.plan" --device cpu --no-timing >"$OUT/$1.cpu.log" 2>&1 &&
    "$BIN/wootz" run "$work/cpu.plan" "${inputs[@]}" --output-dir "$2" >>"$OUT/$1.cpu.log" 2>&1 || {
    tail -2 "$OUT/$1.cpu.log"
    failed=1
    return 1
  }
}

# What is asked of agreement, and what is let pass, of the largest difference over the largest value. Networks whose batch
# norms were given the statistics of two batches amplify roundings: their values are small differences of large ones.
# BERT in BF16 is near the limit: other weights may be above it.
limits_of() {  # MODEL MODE
  case $2 in
    tf32) asked=2e-3 allowed=4e-3 ;;
    fp16) asked=1e-2 allowed=1e-2 ;;
    bf16) asked=1e-2 allowed=3e-2 ;;
    int8 | fp8) asked=5e-2 allowed=5e-2 ;;
  esac
  case $1:$2 in
    *_init:*:*) allowed=$asked ;;
    bert*:bf16) ;;
    bert*|vit*) allowed=$asked ;;
    yolov5s_nms*) asked=5e-2 allowed=5e-2 ;;  # of boxes without their like (compare.py)
  esac
}

# Every model against the CPU backend in FP32, then timed. A quantized one is also held against the network that it was
# made of.
models() {
  [ -z "${MADE:-}" ] || ln -sf "$MADE"/* "$work/"
  "$python" "$here/models.py" "$work" $MODELS >"$OUT/export.log" 2>&1 || { tail -3 "$OUT/export.log"; failed=1; }
  for model in $MODELS; do
    name=${model/:/_}
    [ -f "$work/$name.onnx" ] || continue
    on_cpu "$name" "$work/cpu" || continue
    modes=$MODES
    if [[ $name =~ _(int8|fp8)_ ]]; then
      modes=${BASH_REMATCH[1]}
      on_cpu "${name/_$modes/}" "$work/float"
    fi
    for mode in $modes; do
      flags=(--device cuda --timing-cache "$work/cache")
      case $mode in
        tf32) ;;
        int8 | fp8) flags+=(--fp16) ;;
        *) flags+=("--$mode") ;;
      esac
      [ $mode != bf16 ] || [[ $model =~ ^(resnet50|resnet50_init|bert_base):1$ ]] || continue
      log=$OUT/$name.$mode.log
      start=$(date +%s%N)
      if ! timeout 200 "$BIN/wootz" build "$work/$name.onnx" -o "$work/gpu.plan" "${flags[@]}" -v >"$log" 2>&1; then
        tail -4 "$log" | cut -c1-400
        failed=1
        continue
      fi
      cold=$((($(date +%s%N) - start) / 1000000))
      start=$(date +%s%N)
      "$BIN/wootz" build "$work/$name.onnx" -o "$work/gpu2.plan" "${flags[@]}" >>"$log" 2>&1
      warm=$((($(date +%s%N) - start) / 1000000))
      "$BIN/wootz" run "$work/gpu.plan" "${inputs[@]}" --output-dir "$work/gpu" >>"$log" 2>&1
      limits_of "$model" $mode
      error=$("$python" "$here/compare.py" "$work/cpu" "$work/gpu" $allowed) || { failed=1; error+=" TOO MUCH"; }
      error+=" ($("$python" "$here/compare.py" "$work/cpu" "$work/gpu" $asked >"$work/error" || echo "above what is ")asked $asked, allowed $allowed)"
      cosine=
      [[ $mode != *8 ]] || cosine="cosine with float $("$python" "$here/compare.py" "$work/float" "$work/gpu" 0.95 --cosine) " || failed=1
      # No kernel begins while another ends: what read too early has other bits.
      WOOTZ_CUDA_PDL=0 "$BIN/wootz" run "$work/gpu.plan" "${inputs[@]}" --output-dir "$work/again" >>"$log" 2>&1
      same=$(diff -r "$work/gpu" "$work/again" >/dev/null && echo same || echo DIFFERS)
      [ "$same" = same ] || failed=1
      "$BIN/wootz" bench "$work/gpu.plan" --duration 1 --json >"$OUT/$name.$mode.json" 2>>"$log"
      "$BIN/wootz" inspect "$work/gpu.plan" | cut -c1-400 | gzip >"$OUT/$name.$mode.txt.gz"
      ms=$("$python" -c 'import json,sys; print("%.4f" % json.load(open(sys.argv[1]))["median_ms"])' "$OUT/$name.$mode.json" 2>>"$log")
      row "$(printf '%-18s %-5s %9s ms  error %-47s %srepeat %-7s build %6d ms, with cache %6d ms' \
        "$model" $mode "$ms" "$error" "$cosine" "$same" "$cold" "$warm")"
      rm -rf "$work/gpu" "$work/again"
    done
    rm -rf "$work/cpu" "$work/float"
  done
}

# A few cases of every op, and of what is found by running: all kernel families, in minutes.
sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "sanitizer: none here"; return; }
  for tool in memcheck racecheck; do
    # Of races only our kernels' count: cuDNN's attention, which waits by asynchronous barriers, reports some of its own.
    ours=()
    [ $tool = memcheck ] || ours=(--kernel-name kns=wootz_kernel)
    start=$SECONDS
    WOOTZ_TEST_CASE=${CASES:-} WOOTZ_TEST_EACH=${EACH:-3} timeout 300 compute-sanitizer --tool $tool "${ours[@]}" \
      --error-exitcode 9 "$BIN/conformance_e2e" --gtest_filter='CudaConformance*:CudaLateSlow*:CudaStreams*:Quantized*Cuda*' \
      >"$OUT/sanitizer.$tool.log" 2>&1
    code=$?
    row "$(printf 'sanitizer %-10s %3d s, %s; %s' $tool $((SECONDS - start)) \
      "$(grep -oE '[0-9]+ cases, [0-9]+ steps' "$OUT/sanitizer.$tool.log" | head -1)" \
      "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$OUT/sanitizer.$tool.log" | tail -1 | sed 's/=* *//')")"
    [ $code = 0 ] || failed=1
  done
  # The tiles for 8-bit elements; of races that takes more minutes than are good.
  timeout 300 compute-sanitizer --tool memcheck --error-exitcode 9 "$BIN/kernels_e2e" \
    --gtest_filter='CudaSlow*AgreesWithTheReference*_bytes_*' >"$OUT/sanitizer.tiles.log" 2>&1 || failed=1
  row "sanitizer tiles: $(grep 'ERROR SUMMARY' "$OUT/sanitizer.tiles.log" | tail -1 | sed 's/=* *//')"
}

peers() { (cd "$here" && "$python" torch_peers.py "$OUT/torch.json" $MODELS) 2>"$OUT/torch.log" || failed=1; }
compile() { (cd "$here" && "$python" torch_peers.py "$OUT/torch_compile.json" --compile $MODELS) 2>"$OUT/torch.log" || failed=1; }

nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader
for part in "${parts[@]}"; do
  echo "== $part"
  $part
done
echo
printf '%s\n' "${table[@]}" | tee "$OUT/table.txt"
[ $failed = 0 ] && echo "all well" || echo "SOMETHING FAILED"
exit $failed
