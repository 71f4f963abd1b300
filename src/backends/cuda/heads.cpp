#include "backends/cuda/heads.h"

namespace wootz::cuda {

Result<Heads> operand_heads(const Problem& p, int input, const Dims& dims) {
  constexpr const char* kViews[] = {"q_view", "k_view", "v_view"};
  const char* name = kViews[input];
  const bool transposed = input == 1 && p.get_int("k_transposed") != 0;
  Heads h;
  if (p.params.find(std::string_view(name)) == p.params.end()) {
    if (dims.rank() != 4) return unsupported("attention of an operand of shape {}", dims.to_string());
    const Dims s = dims.strides();
    h.dims = transposed ? Dims{dims[0], dims[1], dims[3], dims[2]} : dims;
    h.batch = s[0];
    h.head = s[1];
    h.row = transposed ? 1 : s[2];
    h.column = transposed ? s[2] : 1;
    return h;
  }
  const std::vector<int64_t> v = p.get_ints(name);
  const auto sane = [](int64_t x) { return x >= 0 && x < (int64_t{1} << 31); };
  if (transposed) return unsupported("attention: a view of transposed keys");
  if (v.size() != 5 || dims.rank() != 3 || !sane(v[0]) || !sane(v[1]) || !sane(v[2]) || !sane(v[3]) || v[1] < 1 ||
      v[0] + (v[1] - 1) * v[3] + v[2] > dims[2])
    return invalid_argument("attention: '{}' does not fit an operand of shape {}", name, dims.to_string());
  const bool first = v[4] != 0;
  h.dims = Dims{dims[first ? 1 : 0], v[1], dims[first ? 0 : 1], v[2]};
  h.offset = v[0];
  h.head = v[3];
  h.batch = first ? dims[2] : dims[1] * dims[2];
  h.row = first ? dims[1] * dims[2] : dims[2];
  return h;
}

Result<Heads> result_heads(const Problem& p, const Dims& d, const Dims& have) {
  const int64_t merged = p.get_int("merged");
  Heads h;
  h.dims = d;
  Dims want = d;
  const int64_t columns = d[1] * d[3];
  if (merged == 0) {
    const Dims s = d.strides();
    h.batch = s[0];
    h.head = s[1];
    h.row = s[2];
  } else {
    want = merged == 1 ? Dims{d[0], d[2], columns} : Dims{d[2], d[0], columns};
    h.head = d[3];
    h.batch = merged == 1 ? d[2] * columns : columns;
    h.row = merged == 1 ? columns : d[0] * columns;
  }
  if (merged < 0 || merged > 2 || !(want == have))
    return invalid_argument("attention gives {}, not {}", want.to_string(), have.to_string());
  return h;
}

}  // namespace wootz::cuda
