// Random tensors. With attribute "seed" a node gives the same numbers in every run; without it, the n-th random node
// that a process runs has the n-th stream. The generator is ours alone: other runtimes give other numbers.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <random>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// std::mt19937_64 is the same everywhere; the standard distributions are not, so they are written out.
class Stream {
 public:
  explicit Stream(const Node& node) : engine_(seed_of(node)) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }  // [0, 1)
  double normal() {
    constexpr double kTau = 6.283185307179586476925;
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(kTau * uniform());
  }

 private:
  static uint64_t seed_of(const Node& node) {
    static std::atomic<uint64_t> next{0};
    if (!node.has_attr("seed")) return 0x9e3779b97f4a7c15u + next.fetch_add(1);
    uint64_t hash = 1469598103934665603u;  // nodes with one seed still differ
    for (unsigned char c : node.name()) hash = (hash ^ c) * 1099511628211u;
    return hash ^ std::bit_cast<uint64_t>(node.attr_float("seed"));
  }
  std::mt19937_64 engine_;
};

Status infer_random(InferContext& ctx) {
  const Node& node = ctx.node();
  const std::string kind = node.attr_string("distribution");
  if (kind != "normal" && kind != "uniform") return ctx.fail("distribution '{}' is not known", kind);
  const DType dtype = node.attr_dtype("dtype", ctx.has(0) ? ctx.dtype(0) : DType::kF32);
  if (!is_float(dtype)) return ctx.fail("dtype is {}, it must be a floating-point type", dtype_name(dtype));
  Shape shape;
  if (ctx.has(0)) {
    shape = ctx.shape(0);
  } else {
    for (int64_t d : node.attr_ints("shape")) shape.emplace_back(d);
  }
  ctx.set_output(0, dtype, std::move(shape));
  return Status();
}

Status random_reference(EvalContext& ctx) {
  const Node& node = ctx.node;
  Stream stream(node);
  const bool normal = node.attr_string("distribution") == "normal";
  const double mean = node.attr_float("mean", 0), scale = node.attr_float("scale", 1);
  const double low = node.attr_float("low", 0), high = node.attr_float("high", 1);
  for (int64_t i = 0; i < ctx.outputs[0].volume(); ++i)
    ctx.outputs[0].set_f64(i, normal ? mean + scale * stream.normal() : low + (high - low) * stream.uniform());
  return Status();
}

Status infer_bernoulli(InferContext& ctx) {
  if (!is_float(ctx.dtype(0))) return ctx.fail("the probabilities are {}", dtype_name(ctx.dtype(0)));
  const DType dtype = ctx.node().attr_dtype("dtype", ctx.dtype(0));
  if (!accepts(Accept::kAny, dtype)) return ctx.fail("dtype is {}", dtype_name(dtype));
  ctx.set_output(0, dtype, ctx.shape(0));
  return Status();
}

Status bernoulli_reference(EvalContext& ctx) {
  Stream stream(ctx.node);
  for (int64_t i = 0; i < ctx.outputs[0].volume(); ++i)
    ctx.outputs[0].set_i64(i, stream.uniform() < ctx.in(0).get_f64(i));
  return Status();
}

Status infer_multinomial(InferContext& ctx) {
  const DType dtype = ctx.node().attr_dtype("dtype", DType::kI32);
  const int64_t samples = ctx.node().attr_int("sample_size", 1);
  if (!is_float(ctx.dtype(0)) || ctx.rank(0) != 2)
    return ctx.fail("the log-probabilities are {}{}, they must be a floating-point matrix", dtype_name(ctx.dtype(0)),
                    shape_to_string(ctx.shape(0)));
  if (dtype != DType::kI32 && dtype != DType::kI64)
    return ctx.fail("dtype is {}, it must be i32 or i64", dtype_name(dtype));
  if (samples < 0) return ctx.fail("sample_size is {}", samples);
  ctx.set_output(0, dtype, {ctx.shape(0)[0], Dim(samples)});
  return Status();
}

// Input: unnormalized log-probabilities [batch, classes].
Status multinomial_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const int64_t classes = x.dims()[1], samples = ctx.outputs[0].dims()[1];
  if (classes == 0) return invalid_argument("there are no classes to draw from");
  Stream stream(ctx.node);
  for (int64_t b = 0; b < x.dims()[0]; ++b) {
    double top = x.get_f64(b * classes);
    for (int64_t c = 1; c < classes; ++c) top = std::max(top, x.get_f64(b * classes + c));
    std::vector<double> up_to(static_cast<size_t>(classes));
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      up_to[static_cast<size_t>(c)] = sum += std::exp(x.get_f64(b * classes + c) - top);
    for (int64_t s = 0; s < samples; ++s) {
      const double at = stream.uniform() * sum;
      const auto it = std::upper_bound(up_to.begin(), up_to.end(), at);
      ctx.outputs[0].set_i64(b * samples + s, std::min<int64_t>(it - up_to.begin(), classes - 1));
    }
  }
  return Status();
}

constexpr OpTraits kRandomTraits{.foldable = false, .has_side_effects = true};
const OpDef kRandom{.name = "Random",
                    .min_inputs = 0,
                    .max_inputs = 1,
                    .attributes = {{"distribution", AttrKind::kString, true},
                                   {"shape", AttrKind::kInts},
                                   {"dtype", AttrKind::kDType},
                                   {"seed", AttrKind::kFloat},
                                   {"mean", AttrKind::kFloat},
                                   {"scale", AttrKind::kFloat},
                                   {"low", AttrKind::kFloat},
                                   {"high", AttrKind::kFloat}},
                    .infer = infer_random,
                    .reference = random_reference,
                    .traits = kRandomTraits};
const OpDef kBernoulli{.name = "Bernoulli",
                       .attributes = {{"dtype", AttrKind::kDType}, {"seed", AttrKind::kFloat}},
                       .infer = infer_bernoulli,
                       .reference = bernoulli_reference,
                       .traits = kRandomTraits};
const OpDef kMultinomial{
    .name = "Multinomial",
    .attributes = {{"dtype", AttrKind::kDType}, {"seed", AttrKind::kFloat}, {"sample_size", AttrKind::kInt}},
    .infer = infer_multinomial,
    .reference = multinomial_reference,
    .traits = kRandomTraits};
const OpDef* const kOps[] = {&kRandom, &kBernoulli, &kMultinomial};

}  // namespace

std::span<const OpDef* const> random_ops() { return kOps; }

}  // namespace wootz::ops
