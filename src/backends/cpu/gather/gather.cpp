// Family gather, of every type whose elements are whole bytes. Indices may count from the end; one outside the axis
// fails the run with its value and place, it is never clamped.
#include <cstring>

#include "backends/cpu/gather/checked_indices.h"
#include "backends/cpu/kernel_entry.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kGrainBytes = 16384;

int64_t product(const Dims& dims, int begin, int end) {
  int64_t v = 1;
  for (int i = begin; i < end; ++i) v *= dims[static_cast<size_t>(i)];
  return v;
}

Status check_operands(const Problem& p, GatherKind kind) {
  if (p.as<GatherParams>().kind != kind) return unsupported("this gathers by '{}'", name_of(kind));
  if (p.inputs.size() != 2 || p.num_main != 2 || p.outputs.size() != 1)
    return invalid_argument("gather: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  if (!p.epilogue.empty()) return unsupported("gather with an epilogue");
  const TensorDesc &x = p.inputs[0], &i = p.inputs[1];
  if (dtype_bits(x.dtype) < 8 || x.dtype != p.outputs[0].dtype)
    return unsupported("gather of {} as {}", dtype_name(x.dtype), dtype_name(p.outputs[0].dtype));
  if (i.dtype != DType::kI32 && i.dtype != DType::kI64) return unsupported("indices of {}", dtype_name(i.dtype));
  return {};
}

struct Shape {
  int64_t outer = 1, extent = 1, inner = 1, count = 1;  // axis, elements: data is [outer, extent, inner]
  size_t size = 4;
  bool wide = true;
};

class AxisCall final : public Call {
 public:
  Shape s;
  Status run(const RunArgs& args) const override {
    const Indices indices{args.inputs[1], s.wide};
    const auto* from = static_cast<const std::byte*>(args.inputs[0]);
    auto* to = static_cast<std::byte*>(args.outputs[0]);
    const size_t row = static_cast<size_t>(s.inner) * s.size;
    Fault fault;
    if (row == 0 || s.outer * s.count == 0) return {};
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / static_cast<int64_t>(row));
    parallel_for(s.outer * s.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t i = r % s.count;
        int64_t index = indices.raw(i);
        if (!fault.check(&index, s.extent, i)) return;
        std::memcpy(to + static_cast<size_t>(r) * row, from + static_cast<size_t>(r / s.count * s.extent + index) * row,
                    row);
      }
    });
    return fault.status();
  }
};

template <typename Make>
class SimpleKernel final : public Kernel {
 public:
  SimpleKernel(Problem p, Make make) : problem_(std::move(p)), make_(make) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override { return make_(problem_, args); }

 private:
  Problem problem_;
  Make make_;
};

Result<std::unique_ptr<Call>> bind_axis(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &i = args.inputs[1], &y = args.outputs[0];
  const auto axis = static_cast<int>(p.as<GatherParams>().axis);
  if (axis < 0 || axis >= x.rank()) return invalid_argument("gather: axis {} of {}", axis, x.to_string());
  auto call = std::make_unique<AxisCall>();
  call->s = {product(x, 0, axis), x[static_cast<size_t>(axis)],      product(x, axis + 1, x.rank()),
             i.volume(),          dtype_bytes(p.inputs[0].dtype, 1), p.inputs[1].dtype == DType::kI64};
  if (call->s.outer * call->s.count * call->s.inner != y.volume())
    return invalid_argument("gather of {} by {} does not give {}", x.to_string(), i.to_string(), y.to_string());
  return std::unique_ptr<Call>(std::move(call));
}

class ElementsCall final : public Call {
 public:
  Dims x, y;
  int axis = 0;
  size_t size = 4;
  bool wide = true;
  Status run(const RunArgs& args) const override {
    const Indices indices{args.inputs[1], wide};
    const auto* from = static_cast<const std::byte*>(args.inputs[0]);
    auto* to = static_cast<std::byte*>(args.outputs[0]);
    const Dims strides = x.strides();
    Fault fault;
    parallel_for(y.volume(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        int64_t index = indices.raw(e), rest = e, at = 0;
        if (!fault.check(&index, x[static_cast<size_t>(axis)], e)) return;
        for (int d = y.rank() - 1; d >= 0; --d) {
          const auto k = static_cast<size_t>(d);
          at += strides[k] * (d == axis ? index : rest % y[k]);
          rest /= y[k];
        }
        std::memcpy(to + static_cast<size_t>(e) * size, from + static_cast<size_t>(at) * size, size);
      }
    });
    return fault.status();
  }
};

Result<std::unique_ptr<Call>> bind_elements(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &i = args.inputs[1], &y = args.outputs[0];
  const auto axis = static_cast<int>(p.as<GatherParams>().axis);
  if (axis < 0 || axis >= x.rank() || i.rank() != x.rank() || !(i == y))
    return invalid_argument("gather of elements of {} by {} along axis {}", x.to_string(), i.to_string(), axis);
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis && i[static_cast<size_t>(d)] > x[static_cast<size_t>(d)])
      return invalid_argument("gather of elements of {} by {} along axis {}", x.to_string(), i.to_string(), axis);
  auto call = std::make_unique<ElementsCall>();
  call->x = x;
  call->y = y;
  call->axis = axis;
  call->size = dtype_bytes(p.inputs[0].dtype, 1);
  call->wide = p.inputs[1].dtype == DType::kI64;
  return std::unique_ptr<Call>(std::move(call));
}

class NdCall final : public Call {
 public:
  Dims x;
  int64_t batches = 1, tuples = 1, depth = 1;
  int batch_dims = 0;
  size_t slice = 4;  // bytes
  bool wide = true;
  Status run(const RunArgs& args) const override {
    const Indices indices{args.inputs[1], wide};
    const auto* from = static_cast<const std::byte*>(args.inputs[0]);
    auto* to = static_cast<std::byte*>(args.outputs[0]);
    Fault fault;
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / static_cast<int64_t>(slice + 1));
    parallel_for(batches * tuples, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t at = t / tuples;
        for (int64_t k = 0; k < depth; ++k) {
          int64_t index = indices.raw(t * depth + k);
          const int64_t extent = x[static_cast<size_t>(batch_dims + k)];
          if (!fault.check(&index, extent, t * depth + k)) return;
          at = at * extent + index;
        }
        std::memcpy(to + static_cast<size_t>(t) * slice, from + static_cast<size_t>(at) * slice, slice);
      }
    });
    return fault.status();
  }
};

Result<std::unique_ptr<Call>> bind_nd(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &i = args.inputs[1], &y = args.outputs[0];
  const auto batch = static_cast<int>(p.as<GatherParams>().batch_dims);
  const auto bad = [&] {
    return invalid_argument("gather of slices of {} by {}, {} batch dimensions", x.to_string(), i.to_string(), batch);
  };
  if (i.rank() < 1 || batch < 0 || batch >= i.rank() || batch > x.rank()) return bad();
  const int64_t depth = i.back();
  if (depth < 1 || batch + depth > x.rank()) return bad();
  for (int d = 0; d < batch; ++d)
    if (x[static_cast<size_t>(d)] != i[static_cast<size_t>(d)]) return bad();
  auto call = std::make_unique<NdCall>();
  call->x = x;
  call->batch_dims = batch;
  call->batches = product(i, 0, batch);
  call->tuples = product(i, batch, i.rank() - 1);
  call->depth = depth;
  const int64_t inner = product(x, batch + static_cast<int>(depth), x.rank());
  call->slice = dtype_bytes(p.inputs[0].dtype, inner);
  call->wide = p.inputs[1].dtype == DType::kI64;
  if (call->batches * call->tuples * inner != y.volume()) return bad();
  return std::unique_ptr<Call>(std::move(call));
}

template <auto Bind>
Result<std::unique_ptr<Kernel>> create_gather(const Problem& p, const KernelOptions&) {
  return std::unique_ptr<Kernel>(std::make_unique<SimpleKernel<decltype(Bind)>>(p, Bind));
}

template <auto Bind>
Status applies_with(const Problem& p, GatherKind kind) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, kind));
  const std::vector<Dims> in{p.inputs[0].dims, p.inputs[1].dims};
  const std::vector<Dims> out{p.outputs[0].dims};
  return Bind(p, {in, out, {}}).status();
}

Status applies_axis(const Problem& p) {
  if (p.as<GatherParams>().batch_dims != 0) return unsupported("gather along an axis with batch dimensions");
  return applies_with<bind_axis>(p, GatherKind::kGather);
}
Status applies_elements(const Problem& p) { return applies_with<bind_elements>(p, GatherKind::kElements); }
Status applies_nd(const Problem& p) { return applies_with<bind_nd>(p, GatherKind::kNd); }

}  // namespace

const KernelEntry gather_any_axis{Family::kGather, kSchemeLinear, applies_axis, create_gather<bind_axis>};
const KernelEntry gather_any_elements{Family::kGather, kSchemeLinear, applies_elements, create_gather<bind_elements>};
const KernelEntry gather_any_nd{Family::kGather, kSchemeLinear, applies_nd, create_gather<bind_nd>};

}  // namespace wootz::cpu
