#include "backend/recurrence.h"

#include <algorithm>
#include <cctype>

namespace wootz {
namespace {

constexpr int64_t kMostHidden = int64_t{1} << 20;

struct Kind {
  const char* name;
  RnnKind kind;
  int64_t gates;
  const char* activations;  // where none are named
  size_t count;             // of them, a direction
};
constexpr Kind kKinds[] = {{"rnn", RnnKind::kRnn, 1, "tanh", 1},
                           {"gru", RnnKind::kGru, 3, "sigmoid,tanh", 2},
                           {"lstm", RnnKind::kLstm, 4, "sigmoid,tanh,tanh", 3}};

struct Function {
  const char* name;  // lower case
  RnnFunction function;
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;  // where none is given
};
constexpr Function kFunctions[] = {
    {"relu", RnnFunction::kRelu},
    {"tanh", RnnFunction::kTanh},
    {"sigmoid", RnnFunction::kSigmoid},
    {"affine", RnnFunction::kAffine, true, true, 1, 0},
    {"leakyrelu", RnnFunction::kLeakyRelu, true, false, 0.01, 0},
    {"thresholdedrelu", RnnFunction::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", RnnFunction::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", RnnFunction::kHardSigmoid, true, true, 0.2, 0.5},
    {"elu", RnnFunction::kElu, true, false, 1, 0},
    {"softsign", RnnFunction::kSoftsign},
    {"softplus", RnnFunction::kSoftplus},
};
static_assert(std::size(kFunctions) == kRnnFunctions);

// In the model's order; alphas and betas go to those functions that have one.
Result<std::vector<RnnActivation>> read_activations(const Problem& p, const Kind& kind, int64_t directions) {
  std::string text = p.get_string("activations");
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string usual = kind.activations;
  if (text.empty()) text = directions == 2 ? usual + "," + usual : usual;
  const std::vector<double> alphas = p.get_floats("activation_alpha"), betas = p.get_floats("activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<RnnActivation> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    at = comma + 1;
    const auto* f =
        std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const auto& e) { return name == e.name; });
    if (f == std::end(kFunctions)) return unsupported("activation '{}'", name.substr(0, 40));
    all.push_back({f->function, f->has_alpha && alpha < alphas.size() ? alphas[alpha++] : f->alpha,
                   f->has_beta && beta < betas.size() ? betas[beta++] : f->beta});
  }
  const size_t wanted = kind.count * static_cast<size_t>(directions);
  if (all.size() != wanted) return invalid_argument("{} activations; {} are needed", all.size(), wanted);
  return all;
}

Status check_types(const Problem& p) {
  const DType type = p.inputs[kRnnX].dtype;
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16)
    return unsupported("a recurrent layer of {}", dtype_name(type));
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
  const std::string name = p.get_string("kind"), direction = p.get_string("direction", "forward");
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return name == k.name; });
  if (kind == std::end(kKinds)) return invalid_argument("a recurrent layer of kind '{}'", name.substr(0, 40));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return invalid_argument("direction '{}'", direction.substr(0, 40));
  const bool lstm = kind->kind == RnnKind::kLstm;
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
  r.kind = kind->kind;
  r.gates = kind->gates;
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.reverse = direction == "reverse";
  r.batch_first = p.get_int("layout") != 0;
  r.linear_before_reset = p.get_int("linear_before_reset") != 0;
  r.input_forget = p.get_int("input_forget") != 0;
  r.clip = std::max(0.0, p.get_float("clip"));
  r.hidden = p.get_int("hidden");
  if (r.hidden < 1 || r.hidden > kMostHidden) return unsupported("{} of {} hidden values", name, r.hidden);
  r.steps = in[kRnnX][r.batch_first ? 1 : 0];
  r.batch = in[kRnnX][r.batch_first ? 0 : 1];
  r.inputs = in[kRnnX][2];
  WOOTZ_RETURN_IF_ERROR(check_extents(p, r, in, out));
  WOOTZ_ASSIGN_OR_RETURN(r.activations, read_activations(p, *kind, r.directions));
  return r;
}

}  // namespace wootz
