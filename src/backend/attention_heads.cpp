#include "backend/attention_heads.h"

#include <cmath>

#include "base/fp8.h"

namespace wootz {

const Ints& head_view(const Problem& p, int operand) {
  const auto& params = p.as<AttentionParams>();
  return operand == 0 ? params.q_view : operand == 1 ? params.k_view : params.v_view;
}

Result<HeadLines> operand_lines(const Problem& p, int operand, const Dims& dims) {
  const Ints& v = head_view(p, operand);
  HeadLines lines;
  if (v.empty()) {
    if (dims.rank() != 4) return invalid_argument("attention: an operand of shape {}", dims.to_string());
    lines.dims = dims;
    lines.row = dims[3];
    lines.head = dims[2] * lines.row;
    lines.batch = dims[1] * lines.head;
    return lines;
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  bool sane = v.size() == 5 && dims.rank() == 3;
  for (size_t i = 0; sane && i < 4; ++i) sane = v[i] >= (i == 1 || i == 2 ? 1 : 0) && v[i] < kMost;
  if (!sane || v[0] + (v[1] - 1) * v[3] + v[2] > dims[2])
    return invalid_argument("attention: the view of operand {} does not fit its shape {}", operand, dims.to_string());
  const bool sequence_first = v[4] != 0;
  lines.dims = Dims{dims[sequence_first ? 1 : 0], v[1], dims[sequence_first ? 0 : 1], v[2]};
  lines.offset = v[0];
  lines.head = v[3];
  lines.batch = sequence_first ? dims[2] : dims[1] * dims[2];
  lines.row = sequence_first ? dims[1] * dims[2] : dims[2];
  return lines;
}

const Floats& head_scales(const Problem& p, int operand) {
  const auto& params = p.as<AttentionParams>();
  return operand == 0 ? params.q_scale : operand == 1 ? params.k_scale : params.v_scale;
}

double head_zero(const Problem& p, int operand) {
  const auto& params = p.as<AttentionParams>();
  return operand == 0 ? params.q_zero : operand == 1 ? params.k_zero : params.v_zero;
}

double head_scale(const Floats& scales, int64_t heads, int64_t size, int64_t h, int64_t d) {
  const auto count = static_cast<int64_t>(scales.size());
  return count == 0 ? 1 : scales[static_cast<size_t>(count == 1 ? 0 : count == heads * size ? h * size + d : h)];
}

Status check_head_scales(const Problem& p, const Dims& k, const Dims& v) {
  for (int i = 0; i < 3; ++i) {
    const DType type = p.inputs[static_cast<size_t>(i)].dtype;
    const Floats& scales = head_scales(p, i);
    const auto count = static_cast<int64_t>(scales.size());
    if ((is_int8(type) || is_fp8(type)) != (count > 0))
      return invalid_argument("attention: an operand of {} with {} scales", dtype_name(type), count);
    if (const double zero = head_zero(p, i);
        zero != 0 && (!is_int8(type) || zero != std::floor(zero) || std::abs(zero) > 255))
      return invalid_argument("attention: zero point {} of {}", zero, dtype_name(type));
    if (count <= 1) continue;
    const Dims& dims = i == 1 ? k : v;
    if (i == 0 || (count != dims[1] && count != dims[1] * dims[3]))
      return invalid_argument("attention: {} scales of heads {}", count, dims.to_string());
  }
  return Status();
}

Result<HeadLines> result_lines(const Problem& p, const Dims& d, const Dims& have) {
  HeadLines lines;
  lines.dims = d;
  const int64_t merged = p.as<AttentionParams>().merged;
  const int64_t columns = d[1] * d[3];
  Dims want = d;
  if (merged == 0) {
    lines.row = d[3];
    lines.head = d[2] * d[3];
    lines.batch = d[1] * lines.head;
  } else {
    want = merged == 1 ? Dims{d[0], d[2], columns} : Dims{d[2], d[0], columns};
    lines.head = d[3];
    lines.batch = merged == 1 ? d[2] * columns : columns;
    lines.row = merged == 1 ? columns : d[0] * columns;
  }
  if (merged < 0 || merged > 2 || !(want == have))
    return invalid_argument("attention: a result of shape {} where {} is computed", have.to_string(), want.to_string());
  return lines;
}

}  // namespace wootz
