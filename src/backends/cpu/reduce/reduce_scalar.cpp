// Reductions of f64 and the integers. Integer sums and products wrap; an integer mean truncates.
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/reduce/reduce.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

template <class T>
T reduce_one(ReduceKind kind, const ReduceNest& nest, const T* x) {
  using Acc =
      std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;  // wraps
  constexpr bool kFloat = std::is_floating_point_v<T>;
  using Limit = std::numeric_limits<T>;
  const auto fold = [&](Acc start, auto step) {
    if (nest.count > 0) nest.each(0, [&](int64_t at) { start = step(start, static_cast<Acc>(x[at])); });
    return start;
  };
  const auto plus = [](Acc a, Acc b) { return static_cast<Acc>(static_cast<Wide>(a) + static_cast<Wide>(b)); };
  const auto times = [](Acc a, Acc b) { return static_cast<Acc>(static_cast<Wide>(a) * static_cast<Wide>(b)); };
  const auto max = [&] {
    return fold(static_cast<Acc>(kFloat ? -Limit::infinity() : Limit::lowest()),
                [](Acc a, Acc b) { return a != a || a > b ? a : b; });
  };
  switch (kind) {
    case ReduceKind::kSum: return static_cast<T>(fold(0, plus));
    case ReduceKind::kMean: {
      const Acc sum = fold(0, plus);
      if (nest.count == 0) return kFloat ? Limit::quiet_NaN() : static_cast<T>(sum);
      return static_cast<T>(sum / static_cast<Acc>(nest.count));
    }
    case ReduceKind::kMax: return static_cast<T>(max());
    case ReduceKind::kMin:
      return static_cast<T>(fold(static_cast<Acc>(kFloat ? Limit::infinity() : Limit::max()),
                                 [](Acc a, Acc b) { return a != a || a < b ? a : b; }));
    case ReduceKind::kProd: return static_cast<T>(fold(1, times));
    case ReduceKind::kL1:
      return static_cast<T>(
          fold(0, [&](Acc a, Acc b) { return plus(a, b < 0 ? static_cast<Acc>(Wide(0) - static_cast<Wide>(b)) : b); }));
    case ReduceKind::kSumSq: return static_cast<T>(fold(0, [&](Acc a, Acc b) { return plus(a, times(b, b)); }));
    case ReduceKind::kL2: return static_cast<T>(std::sqrt(fold(0, [&](Acc a, Acc b) { return plus(a, times(b, b)); })));
    case ReduceKind::kLogSum: return static_cast<T>(std::log(fold(0, plus)));
    case ReduceKind::kLogSumExp: {
      const Acc top = max();
      const auto shift = static_cast<double>(top);
      const double from = std::isinf(shift) ? 0 : shift;
      double sum = 0;
      if (nest.count > 0) nest.each(0, [&](int64_t at) { sum += std::exp(static_cast<double>(x[at]) - from); });
      return static_cast<T>(std::log(sum) + from);
    }
  }
  return T();
}

using Fn = void (*)(ReduceKind, const ReduceNest&, const void* x, int64_t begin, int64_t n, void* tile);
template <class T>
void reduce_range(ReduceKind kind, const ReduceNest& nest, const void* x, int64_t begin, int64_t n, void* tile) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(tile)[i] = reduce_one<T>(kind, nest, static_cast<const T*>(x) + nest.base(begin + i));
}
Fn find_range(DType type) {
  switch (type) {
    case DType::kF64: return reduce_range<double>;
    case DType::kI8: return reduce_range<int8_t>;
    case DType::kU8:
    case DType::kBool: return reduce_range<uint8_t>;
    case DType::kI16: return reduce_range<int16_t>;
    case DType::kU16: return reduce_range<uint16_t>;
    case DType::kI32: return reduce_range<int32_t>;
    case DType::kU32: return reduce_range<uint32_t>;
    case DType::kI64: return reduce_range<int64_t>;
    case DType::kU64: return reduce_range<uint64_t>;
    default: return nullptr;
  }
}

class ReduceCall final : public Call {
 public:
  Epilogue::Bound end;
  ReduceNest nest;
  ReduceKind kind = ReduceKind::kSum;
  Fn fn = nullptr;
  Status run(const RunArgs& args) const override {
    constexpr int64_t kTile = 256;
    parallel_for(nest.outputs, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, nest.count)),
                 [&](int64_t begin, int64_t last) {
                   alignas(64) double tile[kTile];
                   for (; begin < last; begin += kTile) {
                     const int64_t n = std::min(kTile, last - begin);
                     fn(kind, nest, args.inputs[0], begin, n, tile);
                     end.store(begin, n, tile, args);
                   }
                 });
    return {};
  }
};

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Problem& p, Epilogue e) : problem_(p), epilogue_(std::move(e)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    auto call = std::make_unique<ReduceCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->end, epilogue_.bind(problem_, args));
    WOOTZ_ASSIGN_OR_RETURN(call->nest, reduce_nest(problem_, args.inputs[0], args.outputs[0]));
    call->kind = problem_.as<ReduceParams>().kind;
    call->fn = find_range(problem_.inputs[0].dtype);
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  Problem problem_;
  Epilogue epilogue_;
};

Status reduce_scalar_applies(const Problem& p) {
  if (p.inputs.empty() || find_range(p.inputs[0].dtype) == nullptr) return unsupported("not f64 and not an integer");
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_reduce(p, type));
  const ReduceKind kind = p.as<ReduceParams>().kind;
  const bool irrational = kind == ReduceKind::kL2 || kind == ReduceKind::kLogSum || kind == ReduceKind::kLogSumExp;
  if (type != DType::kF64 && irrational) return unsupported("reduce {} of {}", name_of(kind), dtype_name(type));
  if (type == DType::kBool && kind != ReduceKind::kMax && kind != ReduceKind::kMin)
    return unsupported("reduce of bool");
  return {};
}

Result<std::unique_ptr<Kernel>> create_reduce_scalar(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, p.inputs[0].dtype, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(p, std::move(e)));
}

}  // namespace

const KernelEntry reduce_other_scalar{Family::kReduce, kSchemeLinear, reduce_scalar_applies, create_reduce_scalar};

}  // namespace wootz::cpu
