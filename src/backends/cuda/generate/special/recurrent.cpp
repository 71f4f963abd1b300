// LSTM, GRU and RNN. One launch multiplies all inputs by their weights, a warp for each value; then a block for each
// sequence and direction walks the steps, with its state in shared memory.
#include "backend/recurrence.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kWarp = 32, kInputBlock = 256, kStepBlock = 1024;
constexpr size_t kActivations = 3;  // of a direction, in rnn/steps.cuh

// By RnnFunction and RnnKind: structs of rnn/functions.cuh and rnn/steps.cuh.
constexpr const char* kFunctions[] = {
    "RnnRelu",       "RnnTanh",        "RnnSigmoid", "RnnAffine",   "RnnLeakyRelu", "RnnThresholdedRelu",
    "RnnScaledTanh", "RnnHardSigmoid", "RnnElu",     "RnnSoftsign", "RnnSoftplus"};
static_assert(std::size(kFunctions) == kRnnFunctions);
constexpr const char* kCells[] = {"RnnCell", "GruCell", "LstmCell"};

// The flag `there`, and the operand; where it is left out, another one's address that is not read.
void add_input(const Problem& p, size_t input, const char* name, const char* there, KernelSource* source) {
  const bool has = rnn_has(p, input);
  source->fixed(there, has);
  source->operand(fmt::format("const {}*", has ? storage_type(p.inputs[input].dtype) : "X"), name,
                  {false, has ? static_cast<int>(input) : 0});
}

// part[d, n, t, g] = x[t, n] * w[d, g] + bias, in scratch memory.
Status multiply_inputs(const Problem& p, const BindArgs& args, const Recurrence& r, std::vector<Launch>* launches) {
  const int64_t values = r.directions * r.batch * r.steps * r.width();
  KernelSource source("rnn/inputs.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[kRnnX].dtype));
  source.fixed("kThreads", kInputBlock);
  source.fixed("kBatchFirst", r.batch_first);
  source.fixed("kGates", r.width());
  source.operand("float* __restrict__", "part", kWorkspacePointer);
  source.operand("const X*", "x", {false, kRnnX});
  source.operand("const X*", "w", {false, kRnnW});
  add_input(p, kRnnBias, "bias", "kBias", &source);
  source.number("values", values);
  source.number("batch", r.batch);
  source.number("steps", r.steps);
  source.number("inputs", r.inputs);
  return source.finish(kInputBlock, blocks_for(values, kInputBlock / kWarp), launches,
                       static_cast<size_t>(values) * sizeof(float));
}

// Act0 to Act5; where there are fewer, the first again.
void add_activations(const Recurrence& r, KernelSource* source) {
  bool one_set = true;
  for (size_t i = 0; i < 2 * kActivations; ++i) {
    const size_t direction = r.directions == 2 ? i / kActivations : 0, which = i % kActivations;
    const size_t at = which < r.each() ? which : 0;
    const RnnActivation& a = r.activations[direction * r.each() + at];
    one_set = one_set && a == r.activations[at];
    source->choice(fmt::format("Act{}", i), kFunctions[static_cast<size_t>(a.function)]);
    source->fixed_real(fmt::format("kAlpha{}", i), a.alpha);
    source->fixed_real(fmt::format("kBeta{}", i), a.beta);
  }
  source->fixed("kOneSet", one_set);
}

void add_operands_of_steps(const Problem& p, KernelSource* source) {
  source->operand("const X*", "r", {false, kRnnR});
  add_input(p, kRnnBias, "bias", "kBias", source);
  add_input(p, kRnnLengths, "lengths", "kLengths", source);
  add_input(p, kRnnInitialH, "initial_h", "kInitialH", source);
  add_input(p, kRnnInitialC, "initial_c", "kInitialC", source);
  add_input(p, kRnnPeepholes, "peepholes", "kPeepholes", source);
  constexpr std::pair<const char*, const char*> outputs[] = {{"y", "kY"}, {"y_h", "kYH"}, {"y_c", "kYC"}};
  for (size_t o = 0; o < kRnnOutputs; ++o) {
    const bool wanted = rnn_wants(p, o);
    source->fixed(outputs[o].second, wanted);
    source->operand("X* __restrict__", outputs[o].first,
                    wanted ? Pointer{true, static_cast<int>(o)} : kWorkspacePointer);
  }
  source->operand("const float*", "part", kWorkspacePointer);
}

Status check_form(const TensorDesc& t) {
  if (t.dtype == DType::kInvalid) return Status();
  if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  return check_type(t.dtype);
}

}  // namespace

Status generate_recurrent(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Recurrence r, read_recurrence(p, args.inputs, args.outputs));
  const int64_t shared = (3 * r.hidden + r.width() + kStepBlock) * static_cast<int64_t>(sizeof(float));
  if (shared > 48 << 10) return unsupported("{} hidden values", r.hidden);
  if (r.batch == 0) return Status();
  if (r.directions * r.batch * r.steps * r.width() >= int64_t{1} << 31) return unsupported("{} steps", r.steps);
  for (const TensorDesc& t : p.inputs) WOOTZ_RETURN_IF_ERROR(check_form(t));
  for (const TensorDesc& t : p.outputs) WOOTZ_RETURN_IF_ERROR(check_form(t));
  if (r.steps > 0) WOOTZ_RETURN_IF_ERROR(multiply_inputs(p, args, r, launches));
  KernelSource source("rnn/steps.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[kRnnX].dtype));
  source.choice("Cell", kCells[static_cast<size_t>(r.kind)]);
  const std::pair<const char*, int64_t> fixed[] = {
      {"kThreads", kStepBlock},        {"kHidden", r.hidden},   {"kGates", r.width()},
      {"kBatchFirst", r.batch_first},  {"kReverse", r.reverse}, {"kLinearBeforeReset", r.linear_before_reset},
      {"kInputForget", r.input_forget}};
  for (const auto& [name, value] : fixed) source.fixed(name, value);
  source.fixed_real("kClip", r.clip);
  add_activations(r, &source);
  add_operands_of_steps(p, &source);
  source.number("batch", r.batch);
  source.number("steps", r.steps);
  source.number("directions", r.directions);
  return source.finish(kStepBlock, r.directions * r.batch, launches,
                       r.steps > 0 ? launches->back().workspace : sizeof(float));
}

}  // namespace wootz::cuda
