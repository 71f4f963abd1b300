// Op TensorScatter: a run of positions along one axis of a cache, from a start by batch entry. Where the result is the
// cache's own memory, what is not written is not touched: a step then costs as much as its update.
#include <algorithm>
#include <cstring>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/indices.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kGrain = 1 << 18;  // bytes that are worth a thread

class CacheUpdateCall final : public Call {
 public:
  int64_t batches = 1, lines = 1, extent = 1, length = 1;  // lines: of a batch entry
  int64_t bytes = 1;                                       // of a position
  bool circular = false, starts = false;
  DType start_type = DType::kI64;

  Status run(const RunArgs& args) const override {
    const IndexReader reader(start_type, starts ? args.inputs[2] : nullptr);
    for (int64_t b = 0; b < batches && !circular && starts && length > 0; ++b)
      if (const int64_t start = reader.raw(b); start < 0 || start > extent - length)
        return invalid_argument("{} positions from {} do not fit into the {} of the cache", length, start, extent);
    const auto* cache = static_cast<const char*>(args.inputs[0]);
    const auto* updates = static_cast<const char*>(args.inputs[1]);
    auto* out = static_cast<char*>(args.outputs[0]);
    if (cache != out)
      parallel_for(batches * lines * extent * bytes, kGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(out + begin, cache + begin, static_cast<size_t>(end - begin));
      });
    const int64_t update = length * bytes;
    if (update == 0) return {};
    parallel_for(batches * lines, std::max<int64_t>(1, kGrain / update), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t start = starts ? reader.raw(line / lines) : 0;
        if (circular) start = (start % extent + extent) % extent;
        const int64_t before_the_end = std::min(length, extent - start) * bytes;
        char* const to = out + line * extent * bytes;
        std::memcpy(to + start * bytes, updates + line * update, static_cast<size_t>(before_the_end));
        std::memcpy(to, updates + line * update + before_the_end, static_cast<size_t>(update - before_the_end));
      }
    });
    return {};
  }
};

Result<std::unique_ptr<Call>> bind_cache_update(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<CacheUpdateCall>();
  const auto& op = *op_params<TensorScatterOpParams>(p);
  const Dims &cache = args.inputs[0], &update = args.inputs[1];
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(op.axis, cache.rank()));
  call->starts = args.inputs.size() > 2 && p.inputs[2].dtype != DType::kInvalid;
  bool fits = axis > 0 && cache.rank() == update.rank() && cache == args.outputs[0] &&
              (!call->starts || args.inputs[2].volume() == cache[0]);
  for (int d = 0; fits && d < cache.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    fits = d == axis ? update[at] <= cache[at] : update[at] == cache[at];
    (d == 0 ? call->batches : d < axis ? call->lines : d == axis ? call->extent : call->bytes) *= cache[at];
  }
  if (!fits) return invalid_argument("update {} of cache {}", update.to_string(), cache.to_string());
  call->length = update[static_cast<size_t>(axis)];
  call->bytes *= dtype_bits(p.inputs[0].dtype) / 8;
  call->circular = op.mode == CacheMode::kCircular;
  if (call->starts) call->start_type = p.inputs[2].dtype;
  return std::unique_ptr<Call>(std::move(call));
}

Status cache_update_applies(const Problem& p) {
  if (op_params<TensorScatterOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  if (p.inputs.size() < 2 || p.inputs.size() > 3 || p.outputs.size() != 1)
    return invalid_argument("{} inputs and {} outputs", p.inputs.size(), p.outputs.size());
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  const DType type = p.inputs[0].dtype;
  if (p.inputs[1].dtype != type || p.outputs[0].dtype != type)
    return invalid_argument("{} into a cache of {}", dtype_name(p.inputs[1].dtype), dtype_name(type));
  if (type == DType::kInvalid || type == DType::kString || dtype_bits(type) % 8 != 0)
    return unsupported("elements of {}", dtype_name(type));
  if (p.inputs.size() > 2 && p.inputs[2].dtype != DType::kInvalid && !IndexReader::readable(p.inputs[2].dtype))
    return unsupported("starts of {}", dtype_name(p.inputs[2].dtype));
  return try_bind(bind_cache_update, p);
}

int in_place(const Problem& p, int output) { return output == 0 && !p.inputs[0].constant ? 0 : -1; }

// The cache may stay where it is, so that only the update has to move.
double cache_update_cost_us(const Problem& p, const KernelOptions&) {
  const TensorDesc& update = p.inputs[1];
  return 1 + static_cast<double>(dtype_bytes(update.dtype, update.dims.volume())) / 1e4;
}

}  // namespace

const KernelEntry op_any_cache_update{.family = Family::kOp,
                                      .schemes = kSchemeLinear,
                                      .applies = cache_update_applies,
                                      .create = make_function_kernel<bind_cache_update, in_place>,
                                      .cost_us = cache_update_cost_us};

}  // namespace wootz::cpu
