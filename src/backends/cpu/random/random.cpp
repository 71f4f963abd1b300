// Ops that draw random numbers from a state: each number follows from its place, so that any thread may draw it, and
// all of it is in double, as the reference has it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"
#include "base/half.h"
#include "base/philox.h"

namespace wootz::cpu {
namespace {

template <class T>
struct Plain {
  using Stored = T;
  static double get(T v) { return static_cast<double>(v); }
  static T put(double v) { return static_cast<T>(v); }
};
struct F16 {
  using Stored = uint16_t;
  static double get(uint16_t v) { return f16_to_f32(v); }
  static uint16_t put(double v) { return f32_to_f16(static_cast<float>(v)); }
};
struct Bf16 {
  using Stored = uint16_t;
  static double get(uint16_t v) { return bf16_to_f32(v); }
  static uint16_t put(double v) { return f32_to_bf16(static_cast<float>(v)); }
};

using Write = void (*)(void* to, int64_t at, double value);
using Read = double (*)(const void* from, int64_t at);
template <class Type>
void write(void* to, int64_t at, double value) {
  static_cast<typename Type::Stored*>(to)[at] = Type::put(value);
}
template <class Type>
double read(const void* from, int64_t at) {
  return Type::get(static_cast<const typename Type::Stored*>(from)[at]);
}

struct Access {
  DType type;
  Write write;
  Read read;
};
template <class Type>
constexpr Access access(DType type) {
  return {type, write<Type>, read<Type>};
}
constexpr Access kAccess[] = {
    access<Plain<float>>(DType::kF32), access<Plain<double>>(DType::kF64),  access<F16>(DType::kF16),
    access<Bf16>(DType::kBF16),        access<Plain<bool>>(DType::kBool),   access<Plain<uint8_t>>(DType::kU8),
    access<Plain<int8_t>>(DType::kI8), access<Plain<int32_t>>(DType::kI32), access<Plain<int64_t>>(DType::kI64),
};
const Access* find_access(DType type) {
  const auto* const found =
      std::find_if(std::begin(kAccess), std::end(kAccess), [&](const Access& a) { return a.type == type; });
  return found == std::end(kAccess) ? nullptr : found;
}

// One of the ops, at its extents.
struct Drawing {
  const Access *from = nullptr, *to = nullptr;  // from: null where it draws by no operand
  RandomOpParams params;
  int64_t samples = 0, classes = 0;  // multinomial
};

void draw_numbers(const Drawing& d, RandomState state, const void*, void* to, int64_t begin, int64_t end) {
  const auto& p = d.params;
  const bool normal = p.distribution == Distribution::kNormal;
  for (int64_t i = begin; i < end; ++i) {
    const RandomDraw draw = state.at(i);
    d.to->write(to, i, normal ? p.mean + p.scale * draw.normal() : p.low + (p.high - p.low) * draw.uniform);
  }
}

void draw_by_probability(const Drawing& d, RandomState state, const void* from, void* to, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) d.to->write(to, i, state.at(i).uniform < d.from->read(from, i) ? 1 : 0);
}

// Rows of samples.
void draw_classes(const Drawing& d, RandomState state, const void* from, void* to, int64_t begin, int64_t end) {
  std::vector<double> up_to(static_cast<size_t>(d.classes));
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = row * d.classes;
    double top = d.from->read(from, first), sum = 0;
    for (int64_t c = 1; c < d.classes; ++c) top = std::max(top, d.from->read(from, first + c));
    for (int64_t c = 0; c < d.classes; ++c)
      up_to[static_cast<size_t>(c)] = sum += std::exp(d.from->read(from, first + c) - top);
    for (int64_t s = 0; s < d.samples; ++s) {
      const double at = state.at(row * d.samples + s).uniform * sum;
      const auto found = std::upper_bound(up_to.begin(), up_to.end(), at);
      d.to->write(to, row * d.samples + s,
                  static_cast<double>(std::min<int64_t>(found - up_to.begin(), d.classes - 1)));
    }
  }
}

class DrawingCall final : public Call {
 public:
  using Draw = void (*)(const Drawing&, RandomState, const void* from, void* to, int64_t begin, int64_t end);
  Drawing drawing;
  Draw draw = nullptr;
  int64_t pieces = 0, grain = 1;

  Status run(const RunArgs& args) const override {
    const auto* const given = static_cast<const int64_t*>(args.inputs[0]);
    const RandomState state{given[0], given[1]};
    const void* const from = drawing.from == nullptr ? nullptr : args.inputs[1];
    parallel_for(pieces, grain,
                 [&](int64_t begin, int64_t end) { draw(drawing, state, from, args.outputs[0], begin, end); });
    return {};
  }
};

Status bind_multinomial(const Dims& x, const Dims& y, DrawingCall* call) {
  if (x.rank() != 2 || y.rank() != 2 || y[0] != x[0])
    return invalid_argument("{} drawn from {}", y.to_string(), x.to_string());
  if (x[1] == 0 && y.volume() != 0) return invalid_argument("there are no classes to draw from");
  call->drawing.samples = y[1];
  call->drawing.classes = x[1];
  call->draw = draw_classes;
  call->pieces = y.volume() == 0 ? 0 : y[0];
  call->grain = std::max<int64_t>(1, 2048 / (x[1] + y[1] + 1));
  return {};
}

Result<std::unique_ptr<Call>> bind_random(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<DrawingCall>();
  Drawing& d = call->drawing;
  const Dims& y = args.outputs[0];
  if (!(args.inputs[0] == Dims{2})) return invalid_argument("a random state of {}", args.inputs[0].to_string());
  d.to = find_access(p.outputs[0].dtype);
  if (d.to == nullptr) return unsupported("elements of {}", dtype_name(p.outputs[0].dtype));
  call->pieces = y.volume();
  call->grain = 1024;
  if (const auto* random = op_params<RandomOpParams>(p)) {
    if (!is_float(p.outputs[0].dtype)) return invalid_argument("random {}", dtype_name(p.outputs[0].dtype));
    d.params = *random;
    call->draw = draw_numbers;
    return std::unique_ptr<Call>(std::move(call));
  }
  if (args.inputs.size() != 2) return invalid_argument("{} operands to draw from", args.inputs.size());
  d.from = find_access(p.inputs[1].dtype);
  if (d.from == nullptr || !is_float(p.inputs[1].dtype))
    return unsupported("probabilities of {}", dtype_name(p.inputs[1].dtype));
  if (op_params<MultinomialOpParams>(p) != nullptr) {
    WOOTZ_RETURN_IF_ERROR(bind_multinomial(args.inputs[1], y, call.get()));
  } else {
    if (!(args.inputs[1] == y)) return invalid_argument("{} gives {}", args.inputs[1].to_string(), y.to_string());
    call->draw = draw_by_probability;
  }
  return std::unique_ptr<Call>(std::move(call));
}

Status random_applies(const Problem& p) {
  const bool draws = op_params<RandomOpParams>(p) != nullptr || op_params<BernoulliOpParams>(p) != nullptr ||
                     op_params<MultinomialOpParams>(p) != nullptr;
  if (!draws) return unsupported("op {}", p.as<OpParams>().op);
  if (p.inputs.empty() || p.inputs.size() > 2 || p.outputs.size() != 1 || p.inputs[0].dtype != DType::kI64)
    return invalid_argument("{} operands to draw from", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  return try_bind(bind_random, p);
}

// The draws, and the functions of normal ones.
double random_cost_us(const Problem& p, const KernelOptions& options) {
  return 1.0 + 0.03 * static_cast<double>(p.outputs[0].dims.volume()) / options.threads;
}

}  // namespace

const KernelEntry op_any_random{.family = Family::kOp,
                                .schemes = kSchemeLinear,
                                .applies = random_applies,
                                .create = make_function_kernel<bind_random>,
                                .cost_us = random_cost_us};

}  // namespace wootz::cpu
