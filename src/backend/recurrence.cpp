#include "backend/recurrence.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int64_t kMostHidden = int64_t{1} << 20;

struct Kind {
  int64_t gates;
  std::vector<RnnFunction> activations;  // of a direction, where none are named
};
const Kind& kind_of(RnnKind kind) {
  static const Kind kinds[] = {{1, {RnnFunction::kTanh}},
                               {3, {RnnFunction::kSigmoid, RnnFunction::kTanh}},
                               {4, {RnnFunction::kSigmoid, RnnFunction::kTanh, RnnFunction::kTanh}}};
  return kinds[static_cast<size_t>(kind)];
}

// What a function takes, and what it is where none is given.
struct Function {
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;
};
constexpr Function kFunctions[] = {
    {},                      // relu
    {},                      // tanh
    {},                      // sigmoid
    {true, true, 1, 0},      // affine
    {true, false, 0.01, 0},  // leakyrelu
    {true, false, 1, 0},     // thresholdedrelu
    {true, true, 1, 1},      // scaledtanh
    {true, true, 0.2, 0.5},  // hardsigmoid
    {true, false, 1, 0},     // elu
    {},                      // softsign
    {},                      // softplus
};
static_assert(std::size(kFunctions) == kRnnFunctions);

// In the model's order; alphas and betas go to those functions that have one.
Result<std::vector<RnnActivation>> read_activations(const RnnParams& p, int64_t directions) {
  const Kind& kind = kind_of(p.kind);
  std::vector<RnnFunction> functions = p.activations;
  if (functions.empty())
    for (int64_t d = 0; d < directions; ++d)
      functions.insert(functions.end(), kind.activations.begin(), kind.activations.end());
  const Floats &alphas = p.activation_alpha, &betas = p.activation_beta;
  size_t alpha = 0, beta = 0;
  std::vector<RnnActivation> all;
  for (const RnnFunction function : functions) {
    const Function& f = kFunctions[static_cast<size_t>(function)];
    all.push_back({function, f.has_alpha && alpha < alphas.size() ? alphas[alpha++] : f.alpha,
                   f.has_beta && beta < betas.size() ? betas[beta++] : f.beta});
  }
  const size_t wanted = kind.activations.size() * static_cast<size_t>(directions);
  if (all.size() != wanted) return invalid_argument("{} activations; {} are needed", all.size(), wanted);
  return all;
}

Status check_types(const Problem& p) {
  const DType type = p.inputs[kRnnX].dtype;
  if (!is_model_float(type)) return unsupported("a recurrent layer of {}", dtype_name(type));
  for (size_t i = 1; i < p.inputs.size(); ++i) {
    const DType have = p.inputs[i].dtype;
    if (!rnn_has(p, i)) continue;
    if (i == kRnnLengths ? have != DType::kI32 && have != DType::kI64 : have != type)
      return invalid_argument("operand {} of a recurrent layer of {} is {}", i, dtype_name(type), dtype_name(have));
  }
  for (size_t o = 0; o < p.outputs.size(); ++o)
    if (rnn_wants(p, o) && p.outputs[o].dtype != type)
      return invalid_argument("result {} of a recurrent layer of {} is {}", o, dtype_name(type),
                              dtype_name(p.outputs[o].dtype));
  return {};
}

Status check_extents(const Problem& p, const Recurrence& r, std::span<const Dims> in, std::span<const Dims> out) {
  const int64_t d = r.directions, h = r.hidden;
  const Dims state = r.batch_first ? Dims{r.batch, d, h} : Dims{d, r.batch, h};
  const Dims wanted[kRnnInputs] = {
      in[kRnnX], {d, r.width(), r.inputs}, {d, r.width(), h}, {d, 2 * r.width()}, {r.batch}, state, state, {d, 3 * h}};
  for (size_t i = 1; i < p.inputs.size(); ++i)
    if (rnn_has(p, i) && !(in[i] == wanted[i]))
      return invalid_argument("operand {} of a recurrent layer of {}: {}; {} is needed", i, in[kRnnX].to_string(),
                              in[i].to_string(), wanted[i].to_string());
  const Dims y = r.batch_first ? Dims{r.batch, r.steps, d, h} : Dims{r.steps, d, r.batch, h};
  for (size_t o = 0; o < p.outputs.size(); ++o)
    if (rnn_wants(p, o) && !(out[o] == (o == 0 ? y : state)))
      return invalid_argument("result {} of a recurrent layer of {}: {}; {} is needed", o, in[kRnnX].to_string(),
                              out[o].to_string(), (o == 0 ? y : state).to_string());
  return {};
}

}  // namespace

bool rnn_has(const Problem& p, size_t input) {
  return input < p.inputs.size() && p.inputs[input].dtype != DType::kInvalid;
}
bool rnn_wants(const Problem& p, size_t output) {
  return output < p.outputs.size() && p.outputs[output].dtype != DType::kInvalid;
}

Result<Recurrence> read_recurrence(const Problem& p, std::span<const Dims> in, std::span<const Dims> out) {
  const auto& params = p.as<RnnParams>();
  const std::string_view name = name_of(params.kind);
  const bool lstm = params.kind == RnnKind::kLstm;
  if (!rnn_has(p, kRnnX) || !rnn_has(p, kRnnW) || !rnn_has(p, kRnnR) || p.inputs.size() > kRnnInputs ||
      static_cast<size_t>(p.num_main) != p.inputs.size() || in.size() != p.inputs.size() ||
      (!lstm && (rnn_has(p, kRnnInitialC) || rnn_has(p, kRnnPeepholes))))
    return invalid_argument("{} of {} operands", name, p.inputs.size());
  if (p.outputs.empty() || p.outputs.size() > (lstm ? 3U : 2U) || out.size() != p.outputs.size())
    return invalid_argument("{} of {} results", name, p.outputs.size());
  if (!p.epilogue.empty()) return unsupported("{} with an epilogue", name);
  WOOTZ_RETURN_IF_ERROR(check_types(p));
  if (in[kRnnX].rank() != 3) return invalid_argument("{} of {}", name, in[kRnnX].to_string());
  Recurrence r;
  r.kind = params.kind;
  r.gates = kind_of(params.kind).gates;
  r.directions = params.direction == RnnDirection::kBidirectional ? 2 : 1;
  r.reverse = params.direction == RnnDirection::kReverse;
  r.batch_first = params.layout;
  r.linear_before_reset = params.linear_before_reset;
  r.input_forget = params.input_forget;
  r.clip = std::max(0.0, params.clip);
  r.hidden = params.hidden;
  if (r.hidden < 1 || r.hidden > kMostHidden) return unsupported("{} of {} hidden values", name, r.hidden);
  r.steps = in[kRnnX][r.batch_first ? 1 : 0];
  r.batch = in[kRnnX][r.batch_first ? 0 : 1];
  r.inputs = in[kRnnX][2];
  WOOTZ_RETURN_IF_ERROR(check_extents(p, r, in, out));
  WOOTZ_ASSIGN_OR_RETURN(r.activations, read_activations(params, r.directions));
  return r;
}

}  // namespace wootz
