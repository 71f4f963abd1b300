#include "ops/support/window.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int64_t kLargest = (int64_t{1} << 31) - 1;

Status read_list(const Node& node, const char* name, int count, int64_t smallest, int64_t* out) {
  const std::vector<int64_t> values = node.attr_ints(name);
  if (values.empty()) return {};
  if (values.size() != static_cast<size_t>(count))
    return at_node(node, invalid_argument("attribute {} has {} values; {} are needed", name, values.size(), count));
  for (int i = 0; i < count; ++i) {
    const int64_t v = values[static_cast<size_t>(i)];
    if (v < smallest || v > kLargest)
      return at_node(node, invalid_argument("attribute {} holds {}, outside [{}, {}]", name, v, smallest, kLargest));
    out[i] = v;
  }
  return {};
}

}  // namespace

Result<Window> read_window(const Node& node, int rank) {
  if (rank < 1 || rank > 3) return at_node(node, unsupported("{} spatial axes; 1 to 3 are supported", rank));
  Window w;
  w.rank = rank;
  WOOTZ_RETURN_IF_ERROR(read_list(node, "strides", rank, 1, w.strides.data()));
  WOOTZ_RETURN_IF_ERROR(read_list(node, "dilations", rank, 1, w.dilations.data()));
  std::array<int64_t, 6> pads{};
  WOOTZ_RETURN_IF_ERROR(read_list(node, "pads", 2 * rank, 0, pads.data()));
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    w.begins[i] = pads[i];
    w.ends[i] = pads[i + static_cast<size_t>(rank)];
  }
  w.ceil_mode = node.attr_int("ceil_mode") != 0;
  const std::string mode = node.attr_string("auto_pad");
  if (mode == "SAME_UPPER")
    w.auto_pad = AutoPad::kSameUpper;
  else if (mode == "SAME_LOWER")
    w.auto_pad = AutoPad::kSameLower;
  else if (mode == "VALID")
    w.auto_pad = AutoPad::kValid;
  else if (!mode.empty() && mode != "NOTSET")
    return at_node(node, invalid_argument("unknown auto_pad '{}'", mode));
  return w;
}

Dim window_output(const Window& w, int axis, const Dim& in, const Dim& kernel) {
  const auto i = static_cast<size_t>(axis);
  const Dim stride(w.strides[i]);
  if (w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower) return ceil_div(in, stride);
  const bool valid = w.auto_pad == AutoPad::kValid;
  const Dim begin(valid ? 0 : w.begins[i]), end(valid ? 0 : w.ends[i]);
  const Dim span = in + begin + end - ((kernel - Dim(1)) * Dim(w.dilations[i]) + Dim(1));
  if (!w.ceil_mode || valid) return floor_div(span, stride) + Dim(1);
  // A window that would start in the end padding is dropped.
  return dim_min(ceil_div(span, stride) + Dim(1), ceil_div(in + begin, stride));
}

std::optional<int64_t> window_padding(const Window& w, int axis, const Dim& in, int64_t kernel) {
  if (w.auto_pad == AutoPad::kValid) return 0;
  const auto i = static_cast<size_t>(axis);
  const int64_t span = (kernel - 1) * w.dilations[i] + 1;
  if (w.strides[i] == 1) return span - 1;
  if (!in.is_const()) return std::nullopt;
  const int64_t out = (in.value() + w.strides[i] - 1) / w.strides[i];
  return std::max<int64_t>(0, (out - 1) * w.strides[i] + span - in.value());
}

int64_t window_begin(const Window& w, int axis, int64_t in, int64_t kernel) {
  if (w.auto_pad == AutoPad::kExplicit) return w.begins[static_cast<size_t>(axis)];
  const int64_t total = *window_padding(w, axis, Dim(in), kernel);
  return w.auto_pad == AutoPad::kSameLower ? total - total / 2 : total / 2;
}

WindowExtents window_extents(const Window& w, const Dims& x, const Dims& y, const Dims& kernel) {
  WindowExtents e;
  for (int a = 0; a < w.rank; ++a) {
    const auto from = static_cast<size_t>(a), to = static_cast<size_t>(a + 3 - w.rank);
    e.in[to] = x[from + 2];
    e.out[to] = y[from + 2];
    e.kernel[to] = kernel[from];
    e.strides[to] = w.strides[from];
    e.dilations[to] = w.dilations[from];
    e.begins[to] = window_begin(w, a, e.in[to], e.kernel[to]);
  }
  return e;
}

}  // namespace wootz
