// Unique. Places along the axis are sorted by what lies there (runs that double, each element finds its place in the
// merged run by bisection); neighbours that are equal are a group, and its first place is the lowest.
#include <algorithm>

#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

// How the slices at a and b stand to each other: less than 0, 0 or more. NaN stands behind every number.
constexpr const char* kOrder = R"(
template <class T> W_FN int w_order(T a, T b) {
  if (a != a || b != b) return (a != a ? 1 : 0) - (b != b ? 1 : 0);
  return a < b ? -1 : b < a ? 1 : 0;
}
template <class T> W_FN int w_slices(const T* x, s64 a, s64 b, s64 outer, s64 extent, s64 inner) {
  for (s64 o = 0; o < outer; ++o)
    for (s64 i = 0; i < inner; ++i) {
      const int c = w_order(w_get(x[(o * extent + a) * inner + i]), w_get(x[(o * extent + b) * inner + i]));
      if (c != 0) return c;
    }
  return 0;
}
)";

// Arrays in scratch memory, one number a place.
struct Arrays {
  int64_t count;
  size_t bytes;
  Pointer add(size_t each) {
    const Pointer at{false, -1, bytes};
    bytes += (static_cast<size_t>(count) * each + 255) / 256 * 256;
    return at;
  }
};

}  // namespace

Status select_unique(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() != 1 || p.outputs.empty() || p.outputs.size() > 4 || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("Unique of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  const auto& op = *op_params<UniqueOpParams>(p);
  const bool whole = !op.axis, sorted = op.sorted;
  const Dims x = whole ? Dims{args.inputs[0].volume()} : args.inputs[0];
  int64_t axis = op.axis.value_or(0);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return invalid_argument("Unique of {} along axis {}", x.to_string(), axis);
  const auto a = static_cast<size_t>(axis);
  const int64_t n = x[a], outer = volume_of(x, 0, a), inner = volume_of(x, a + 1, x.size());
  if (n >= int64_t{1} << 30) return unsupported("{} places to sort", n);
  WOOTZ_RETURN_IF_ERROR(check_count(x.volume()));
  to->results = {{x.begin(), x.end()}, {-1}, {n}, {-1}};
  to->results[0][a] = -1;
  to->results.resize(p.outputs.size());
  to->most = n;
  if (n == 0) return Status();

  const char* type = storage_type(p.inputs[0].dtype);
  const int64_t blocks = part_blocks(n);
  Arrays arrays{n, (kCountsAt + static_cast<size_t>(blocks) * sizeof(int64_t) + 255) / 256 * 256};
  Pointer order = arrays.add(4), other = arrays.add(4);
  const Pointer start = arrays.add(4), group = arrays.add(4), way = arrays.add(4), members = arrays.add(4),
                shown = arrays.add(4), head = arrays.add(1), first = arrays.add(1);
  const size_t workspace = arrays.bytes;
  const Pointer source{false, 0};
  const auto begin = [](const std::string& parameters, int64_t count, Writer* w) {
    w->raw("extern \"C\" __global__ void __launch_bounds__(256) wootz_kernel(" + parameters + ") {\n");
    w->line("  const s64 i = (s64)blockIdx.x * 256 + threadIdx.x;\n  if (i >= {}) return;", count);
  };
  const auto end = [&](Writer* w, std::vector<Pointer> pointers, int64_t count, std::vector<int64_t> numbers,
                       std::vector<Launch>* launches) {
    w->line("}}");
    Launch launch;
    launch.source = w->text();
    launch.size.block = 256;
    launch.size.grid_x = blocks_for(count, 256);
    launch.pointers = std::move(pointers);
    launch.numbers = std::move(numbers);
    launch.workspace = workspace;
    launches->push_back(std::move(launch));
  };
  {
    Writer w;
    w.raw(prelude());
    begin("int* __restrict__ order", n, &w);
    w.line("  order[i] = (int)i;");
    end(&w, {order}, n, {}, &to->find);
  }
  const std::string shape = fmt::format("{}, {}, {}", outer, n, inner);
  for (int64_t run = 1; run < n; run *= 2) {
    Writer w;
    w.raw(prelude());
    w.raw(kOrder);
    begin(fmt::format("int* __restrict__ to, const int* __restrict__ from, const {}* __restrict__ x, s64 run", type), n,
          &w);
    w.line("  const s64 own = i / run * run, pair = i / (run * 2) * (run * 2);\n  const bool left = own == pair;");
    w.line(
        "  s64 low = left ? pair + run : pair, end = low + run;\n  if (low > {0}) low = {0};\n  if (end > {0}) end = "
        "{0};",
        n);
    w.line("  const s64 first = low; const int e = from[i];");
    w.line("  while (low < end) {{ const s64 middle = (low + end) / 2; const int c = w_slices(x, from[middle], e, {});",
           shape);
    w.line("    if (left ? c < 0 : c <= 0) low = middle + 1; else end = middle; }}");
    w.line("  to[pair + (i - own) + (low - first)] = e;");
    end(&w, {other, order, source}, n, {run}, &to->find);
    std::swap(order, other);
  }
  {
    Writer w;
    w.raw(prelude());
    w.raw(kOrder);
    begin(fmt::format("u8* __restrict__ head, u8* __restrict__ first, const int* __restrict__ order, const {}* "
                      "__restrict__ x",
                      type),
          n, &w);
    w.line("  const bool begins = i == 0 || w_slices(x, order[i - 1], order[i], {}) != 0;", shape);
    w.line("  head[i] = begins; first[order[i]] = begins;");
    end(&w, {head, first, order, source}, n, {}, &to->find);
  }
  // Numbers those of `flags` that are set: where the k-th is, and how many there are up to each place.
  const auto number = [&](Pointer flags, Pointer where, Pointer upto) {
    add_count("u8", flags, "x[i] != 0", n, workspace, &to->find);
    add_scan(blocks, workspace, &to->find);
    Writer w;
    begin_write(
        "int* __restrict__ where, int* __restrict__ upto, const char* __restrict__ ws, const u8* __restrict__ x",
        "x[i] != 0", n, &w);
    w.line("  for (s64 i = first; i < last; ++i) {{ if (x[i] != 0) where[at++] = (int)i; upto[i] = (int)at - 1; }}");
    add_part_launch(&w, {where, upto, kWorkspacePointer, flags}, blocks, workspace, &to->find);
  };
  if (!sorted) number(first, start, shown);
  number(head, start, group);
  {
    Writer w;
    w.raw(prelude());
    begin(
        "int* __restrict__ way, int* __restrict__ members, const int* __restrict__ order, const int* __restrict__ "
        "start, "
        "const int* __restrict__ group, const int* __restrict__ shown, const char* __restrict__ ws",
        n, &w);
    w.line("  const int g = group[i], begins = start[g], e = order[i]; const s64 total = *(const s64*)ws;");
    w.line("  way[e] = {};", sorted ? "g" : "shown[order[begins]]");
    w.line("  if (begins == i) members[e] = (g + 1 < total ? start[g + 1] : {}) - begins;", n);
    end(&w, {way, members, order, start, group, shown, kWorkspacePointer}, n, {}, &to->find);
  }
  if (p.outputs.size() > 1) {
    Writer w;
    w.raw(prelude());
    std::string parameters, body;
    std::vector<Pointer> pointers;
    const char* values[] = {nullptr, "if (first[i]) y1[way[i]] = i;", "y2[i] = way[i];",
                            "if (first[i]) y3[way[i]] = members[i];"};
    for (size_t o = 1; o < p.outputs.size(); ++o) {
      if (p.outputs[o].dtype == DType::kInvalid) continue;
      if (p.outputs[o].dtype != DType::kI64) return invalid_argument("places of {}", dtype_name(p.outputs[o].dtype));
      parameters += fmt::format("s64* __restrict__ y{}, ", o);
      body += fmt::format("  {}\n", values[o]);
      pointers.push_back({true, static_cast<int>(o)});
    }
    begin(parameters + "const int* __restrict__ way, const int* __restrict__ members, const u8* __restrict__ first", n,
          &w);
    w.raw(body);
    pointers.insert(pointers.end(), {way, members, first});
    end(&w, std::move(pointers), n, {}, &to->write);
  }
  if (x.volume() == 0) return Status();
  Writer w;
  w.raw(prelude());
  begin(fmt::format("{0}* __restrict__ y, const {0}* __restrict__ x, const int* __restrict__ way, const u8* "
                    "__restrict__ first, const char* "
                    "__restrict__ ws",
                    type),
        x.volume(), &w);
  w.line("  const s64 c = i % {0}, e = i / {0} % {1}, o = i / {2}, total = *(const s64*)ws;", inner, n, inner * n);
  w.line("  if (first[e]) y[(o * total + way[e]) * {} + c] = x[i];", inner);
  end(&w, {{true, 0}, source, way, first, kWorkspacePointer}, x.volume(), {}, &to->write);
  return Status();
}

}  // namespace wootz::cuda
