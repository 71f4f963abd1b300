// Convolution, transposed convolution and matrix product seen alike: two operands, a bias, a result, post-ops.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backend/kernel.h"
#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/post_ops.h"

namespace wootz::cpu::dnn {

// Concrete extents of a problem's operands, in order. Omitted operands have rank 0 and dtype kInvalid in the problem.
struct Extents {
  std::vector<Dims> inputs;
  Dims output;
};
Extents extents_of(const Problem& problem, bool maximum);

// One dense problem at concrete extents, as oneDNN counts it.
struct DenseSpec {
  enum class Kind : uint8_t { kConv, kDeconv, kMatmul };
  Kind kind = Kind::kConv;
  memory::desc src, weights, bias;  // weights: as they lie row-major in the model; bias: empty when there is none
  memory::dims dst_dims;
  memory::dims strides, dilates, pads_begin, pads_end;
  Layout dst_layout = Layout::kLinear;
  std::vector<int> merged;  // how many of the result's axes each of oneDNN's axes holds
  int bias_input = -1;      // problem input that is oneDNN's bias
  double flops = 0;
  bool empty = false;  // no element to compute
};

// The same for every extent of a problem: quantization, the epilogue with the family's own tail in front.
struct DenseTraits {
  bool quantized = false;
  float src_scale = 1;
  int32_t src_zero = 0, weights_zero = 0;
  std::vector<float> weights_scale;  // one, or one per output channel
  int weights_scale_mask = 0;
  PointwiseExpr epilogue;     // operand 0: oneDNN's accumulator
  std::vector<int> operands;  // expression operand -> problem input; [0] is -1
  int sum_input = -1;         // a residual that oneDNN adds from where it then writes the result; -1: none
  bool no_tiles = false;      // implementations by AMX are wrong here
};

// A family's part. Both check everything: the problem may come from a plan file.
struct DenseFamily {
  Family family;
  Result<DenseTraits> (*traits)(const Problem& problem);
  Result<DenseSpec> (*specify)(const Problem& problem, const Extents& extents);
  // Layouts to offer: of the first input and of the output.
  std::vector<std::pair<Layout, Layout>> (*layouts)(const Problem& problem);
};
extern const DenseFamily kConvFamily, kGemmFamily;

// Shared checks of both families.
Status check_dense(const Problem& problem, int data_inputs);
Status read_quantization(const Problem& problem, int64_t channels, DenseTraits* traits);
// acc * alpha + inputs[bias_input] (where those exist) in front of the problem's epilogue.
Status compose_epilogue(const Problem& problem, double alpha, int bias_input, DenseTraits* traits);

// The input that may be such a residual: of the result's shape, type and layout. -1 where the epilogue adds none.
int residual_input(const Problem& problem, const DenseTraits& traits);

// Scales and zero points that a primitive reads at run time; addresses stay valid.
struct FixedData {
  std::vector<float> src_scale, weights_scale, dst_scale;
  int32_t src_zero = 0, weights_zero = 0, dst_zero = 0;
};

// Where a primitive's argument comes from when it runs.
struct ArgSource {
  enum class From : uint8_t { kInput, kOutput, kScratch, kIntermediate, kFixed };
  int arg = 0;
  From from = From::kInput;
  size_t index = 0;   // input or output number
  size_t offset = 0;  // bytes to skip
  memory::desc desc;
  const void* fixed = nullptr;
};

// A primitive for concrete extents, chosen but not yet generated.
struct DensePlan {
  dnnl::primitive_desc_base primitive;
  std::vector<ArgSource> args;  // all but scratch
  std::shared_ptr<FixedData> fixed;
  bool to_intermediate = false;  // the result needs memory of its own before `rest`
  PointwiseExpr rest;            // empty: oneDNN does all
  std::string implementation;
  int sum_input = -1;  // that input's bytes must stand in the output before the primitive runs
  size_t sum_bytes = 0;
  std::shared_ptr<const void> own_weights;  // what a fixed argument of the weights points to
  int threads = 0;                          // generated for and run under this limit; 0: the caller's
};

// The plan with the longest prefix of the epilogue that oneDNN takes with a fast implementation. `weights`: the layout
// of the second operand (any: oneDNN chooses). allow_reference: rather slow than not at all. With traits.sum_input,
// only plans that add it in place: who runs them may have put it there.
Result<DensePlan> plan_dense(const Problem& problem, const DenseTraits& traits, const DenseSpec& spec,
                             const memory::desc& weights, const Extents& extents, bool allow_reference);

// The second operand in any layout.
memory::desc any_layout(const memory::desc& desc);

Result<std::unique_ptr<Kernel>> create_dense(const DenseFamily& family, const Problem& problem,
                                             const std::string& config);
// The layout of constant weights that serves the whole range of extents, as the tactic's config.
struct WeightsChoice {
  std::string config;
  memory::desc desc;
};
// Decides traits->sum_input as well.
Result<WeightsChoice> choose_weights(const DenseFamily& family, const Problem& problem, DenseTraits* traits);

}  // namespace wootz::cpu::dnn
