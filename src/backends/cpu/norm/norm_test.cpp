#include <cmath>

#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using rig::random_tensor;

struct Case {
  const char* kind;
  Dims dims;
  int64_t axis_or_groups;
};

// Rows of `length`; parameter index of an element.
HostTensor oracle(const Case& c, const HostTensor& x, const HostTensor& scale, const HostTensor& bias, double epsilon) {
  const std::string kind = c.kind;
  int64_t rows = 1, run = 1;
  const bool image = kind == "instance" || kind == "group";
  if (image) {
    const int64_t groups = kind == "group" ? c.axis_or_groups : c.dims[1];
    rows = c.dims[0] * groups;
    for (int d = 2; d < c.dims.rank(); ++d) run *= c.dims[static_cast<size_t>(d)];
  } else {
    for (int d = 0; d < c.axis_or_groups; ++d) rows *= c.dims[static_cast<size_t>(d)];
  }
  HostTensor y = HostTensor::allocate(DType::kF64, c.dims).value();
  if (x.volume() == 0) return y;
  const int64_t length = x.volume() / rows;
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < length; ++i) mean += x.get_f64(r * length + i);
    mean = kind == "rms" || kind == "l2" ? 0 : mean / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) square += std::pow(x.get_f64(r * length + i) - mean, 2);
    const double factor = kind == "l2" ? 1 / std::max(std::sqrt(square), epsilon)
                                       : 1 / std::sqrt(square / static_cast<double>(length) + epsilon);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = r * length + i, k = image ? at / run % c.dims[1] : i;
      double v = (x.get_f64(at) - mean) * factor;
      if (scale.valid()) v *= scale.get_f64(k);
      if (bias.valid()) v += bias.get_f64(k);
      y.set_f64(at, v);
    }
  }
  return y;
}

void check_case(const Case& c, const HostTensor& x, int parameters, DType out, bool epilogue, std::mt19937_64& rng) {
  Problem p;
  p.set_family(Family::kNorm);
  p.num_main = 1 + parameters;
  p.params = NormParams{.kind = *choice_from_name<NormKind>(c.kind),
                        .axis = c.axis_or_groups,
                        .groups = c.axis_or_groups,
                        .epsilon = 1e-5,
                        .has_scale = parameters > 0,
                        .has_bias = parameters > 1};
  const bool image = std::string_view(c.kind) == "instance" || std::string_view(c.kind) == "group";
  Dims shape;
  for (int d = image ? 1 : static_cast<int>(c.axis_or_groups); d < (image ? 2 : c.dims.rank()); ++d)
    shape.push_back(c.dims[static_cast<size_t>(d)]);
  std::vector<HostTensor> inputs = {x};
  for (int i = 0; i < parameters; ++i) inputs.push_back(random_tensor(rng, x.dtype(), shape, -2, 2));
  HostTensor want =
      oracle(c, x, parameters > 0 ? inputs[1] : HostTensor(), parameters > 1 ? inputs[2] : HostTensor(), 1e-5);
  if (epilogue) {
    inputs.push_back(random_tensor(rng, DType::kF32, c.dims));
    p.epilogue = rig::test_epilogue(x.dtype(), out);
    p.acc_dtype = x.dtype();
    want = rig::apply_epilogue(p.epilogue, want, {inputs.back()});
  } else {
    want = rig::converted(want, out);
  }
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc(out, c.dims)};
  SCOPED_TRACE(fmt::format("{} {} {}", c.kind, c.dims.to_string(), c.axis_or_groups));
  rig::check(p, inputs, {want}, {.tolerance = 4 * tolerance_for(out, c.dims.volume()), .misaligned = parameters == 1});
}

TEST(Norm, KindsTypesParametersAndEpilogues) {
  std::mt19937_64 rng(rig::seed());
  const Case cases[] = {{"layer", {4, 33}, 1},         {"layer", {2, 3, 768}, 2},     {"layer", {3, 5, 7}, 1},
                        {"layer", {2, 5000}, 1},       {"rms", {6, 100}, 1},          {"rms", {2, 2, 2100}, 2},
                        {"instance", {2, 5, 9, 7}, 0}, {"instance", {2, 3, 2500}, 0}, {"group", {2, 12, 5, 3}, 3},
                        {"group", {1, 8, 64}, 8},      {"group", {2, 6, 3000}, 2},    {"layer", {1, 1}, 1}};
  for (const Case& c : cases)
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16})
      for (int parameters = 0; parameters < 3; ++parameters) {
        const HostTensor x = random_tensor(rng, type, c.dims, -3, 5);
        check_case(c, x, parameters, type, false, rng);
        check_case(c, x, parameters, DType::kF32, true, rng);
      }
}

// The result and its bytes, which are those of a step of its own that reads the result as it is stored.
void check_rounded(const Case& c, DType type, DType bytes, std::mt19937_64& rng) {
  const double zero = bytes == DType::kU8 ? 100 : 3;
  const Dims shape{c.dims.volume() / (c.dims[0] * (c.axis_or_groups > 1 ? c.dims[1] : 1))};
  std::vector<HostTensor> inputs = {random_tensor(rng, type, c.dims, -3, 5), random_tensor(rng, type, shape, -2, 2),
                                    random_tensor(rng, type, shape, -2, 2)};
  inputs[0].set_f64(1, NAN);  // of its row, every number
  Problem p;
  p.set_family(Family::kNorm);
  p.num_main = 3;
  p.params = NormParams{
      .kind = NormKind::kLayer, .axis = c.axis_or_groups, .epsilon = 1e-5, .has_scale = true, .has_bias = true};
  p.acc_dtype = type;
  PointwiseExpr tail;
  const uint16_t v = tail.input(0, type);
  const uint16_t q =
      tail.push(PwOp::kQuantize, bytes, v, tail.constant(0.0123, DType::kF32), tail.constant(zero, DType::kF32));
  tail.outputs = {q};
  p.epilogue = tail;
  p.epilogue.outputs = {v, q};
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc(type, c.dims), rig::desc(bytes, c.dims)};
  const HostTensor want = rig::converted(oracle(c, inputs[0], inputs[1], inputs[2], 1e-5), type);
  for (const char* isa : {"avx2", "avx512"}) {
    const std::vector<Candidate> offers = rig::offers_for(p, isa);
    ASSERT_EQ(offers.size(), 1u);
    for (const bool in_place : {false, true}) {
      const auto got = rig::run_candidate(p, offers[0], inputs, {}, in_place);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      const HostTensor again = rig::apply_epilogue(tail, (*got)[0], {});
      for (int64_t i = 0; i < want.volume(); ++i) {
        const double value = (*got)[0].get_f64(i), difference = std::fabs(value - want.get_f64(i));
        ASSERT_TRUE(std::isnan(want.get_f64(i)) ? std::isnan(value) : difference < 0.1) << i;
        ASSERT_EQ((*got)[1].get_i64(i), again.get_i64(i)) << fmt::format("{} of {}: {}", i, p.key(), value);
      }
    }
  }
}

TEST(Norm, ResultsThatAreAlsoRounded) {
  std::mt19937_64 rng(rig::seed());
  for (const Case& c : {Case{"layer", {3, 768}, 1}, Case{"layer", {40, 33}, 1}, Case{"layer", {2, 3, 2500}, 2}})
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16})
      for (const DType bytes : {DType::kI8, DType::kU8}) check_rounded(c, type, bytes, rng);
}

TEST(Norm, EmptyTensorsAndNaN) {
  std::mt19937_64 rng(rig::seed());
  for (const Dims& dims : {Dims{0, 4}, Dims{4, 0}, Dims{2, 0, 3}})
    check_case({"layer", dims, 1}, HostTensor::allocate(DType::kF32, dims).value(), 2, DType::kF32, false, rng);
  check_case({"instance", {0, 3, 4}, 0}, HostTensor::allocate(DType::kF32, {0, 3, 4}).value(), 2, DType::kF32, false,
             rng);
  HostTensor x = random_tensor(rng, DType::kF32, {3, 40});
  x.as_mutable<float>()[50] = NAN;
  check_case({"layer", {3, 40}, 1}, x, 2, DType::kF32, false, rng);
}

}  // namespace
}  // namespace wootz::cpu
