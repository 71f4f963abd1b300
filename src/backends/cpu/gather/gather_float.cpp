// Rows of a tensor of f32, f16 or bf16 by index along one axis, with an epilogue: embeddings that are added up, and the
// turning of pairs by rotary embeddings (where indices along the last axis swap its halves).
#include <algorithm>
#include <vector>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/gather/checked_indices.h"
#include "backends/cpu/row_reader.h"

namespace wootz::cpu {
namespace {

class GatherCall final : public Call {
 public:
  int64_t outer = 1, extent = 1, inner = 1, count = 1;  // data is [outer, extent, inner]
  bool wide = true;                                     // indices of 64 bits
  std::vector<int32_t> runs;  // of constant indices: from each one, how many follow one another; else empty
  RowReader reader;
  Epilogue::Bound end;

  Status run(const RunArgs& args) const override {
    const Indices indices{args.inputs[1], wide};
    Fault fault;
    parallel_for(outer * count * inner, 2 * kRowChunk, [&](int64_t begin, int64_t last) {
      alignas(64) float tile[kRowChunk];
      for (int64_t e = begin; e < last; e += kRowChunk) {
        const int64_t n = std::min(kRowChunk, last - e);
        if (!fill(args, indices, e, n, tile, &fault)) return;
        end.store(e, n, tile, args);
      }
    });
    return fault.status();
  }

 private:
  // Elements [e, e + n) of the result.
  bool fill(const RunArgs& args, const Indices& indices, int64_t e, int64_t n, float* tile, Fault* fault) const {
    for (int64_t done = 0; done < n;) {
      const int64_t at = e + done, row = at / inner, within = at % inner, i = row % count;
      int64_t index = indices.raw(i);
      if (!fault->check(&index, extent, i)) return false;
      const int64_t rows = runs.empty() ? 1 : runs[static_cast<size_t>(i)];
      const int64_t length = std::min(rows * inner - within, n - done);
      const float* from =
          reader.read(args.inputs[0], (row / count * extent + index) * inner + within, length, tile + done);
      if (from != tile + done) std::copy_n(from, length, tile + done);
      done += length;
    }
    return true;
  }
};

Result<std::unique_ptr<Call>> bind_gather_float(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  const Dims &x = args.inputs[0], &i = args.inputs[1], &y = args.outputs[0];
  const auto axis = static_cast<int>(p.as<GatherParams>().axis);
  if (axis < 0 || axis >= x.rank()) return invalid_argument("gather: axis {} of {}", axis, x.to_string());
  auto call = std::make_unique<GatherCall>();
  for (int d = 0; d < x.rank(); ++d)
    (d < axis ? call->outer : d == axis ? call->extent : call->inner) *= x[static_cast<size_t>(d)];
  call->count = i.volume();
  if (call->outer * call->count * call->inner != y.volume())
    return invalid_argument("gather of {} by {} does not give {}", x.to_string(), i.to_string(), y.to_string());
  call->wide = p.inputs[1].dtype == DType::kI64;
  const void* known = args.constants.size() > 1 ? args.constants[1] : nullptr;
  const size_t bytes = static_cast<size_t>(call->count) * (call->wide ? 8 : 4);
  const bool whole = args.constant_bytes.size() <= 1 || args.constant_bytes[1] >= bytes;
  if (known != nullptr && whole && call->inner < 64 && call->count > 0) {
    const Indices indices{known, call->wide};
    call->runs.assign(static_cast<size_t>(call->count), 1);
    // A run must not leave the axis: only indices that count from its beginning join one.
    for (int64_t k = call->count - 1; k-- > 0;) {
      const int64_t here = indices.raw(k), next = indices.raw(k + 1);
      if (here >= 0 && next == here + 1 && next < call->extent)
        call->runs[static_cast<size_t>(k)] = call->runs[static_cast<size_t>(k + 1)] + 1;
    }
  }
  call->reader = RowReader(p.inputs[0].dtype, options.isa);
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  return std::unique_ptr<Call>(std::move(call));
}

Status gather_float_applies(const Problem& p) {
  if (p.as<GatherParams>().kind != GatherKind::kGather || p.as<GatherParams>().batch_dims != 0)
    return unsupported("this gathers along one axis, without batch dimensions");
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, true));
  if (p.epilogue.empty()) return unsupported("a gather without an epilogue is a copy");
  if (!is_row_type(p.inputs[0].dtype)) return unsupported("gather of {}", dtype_name(p.inputs[0].dtype));
  const DType index = p.inputs[1].dtype;
  if (index != DType::kI32 && index != DType::kI64) return unsupported("indices of {}", dtype_name(index));
  return try_bind(bind_gather_float, p);
}

}  // namespace

const KernelEntry gather_float_fused{Family::kGather, kSchemeLinear, gather_float_applies,
                                     make_function_kernel<bind_gather_float>};

}  // namespace wootz::cpu
