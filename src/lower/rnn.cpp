// LSTM, GRU and RNN.
#include <algorithm>
#include <cctype>

#include "lower/context.h"

namespace wootz {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Names joined by commas. False: one that no family knows.
bool read_activations(const Node& node, std::vector<RnnFunction>* to) {
  const std::string text = lower_case(node.attr_string("activations", ""));
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const auto function = choice_from_name<RnnFunction>(std::string_view(text).substr(at, comma - at));
    if (!function) return false;
    to->push_back(*function);
    at = comma + 1;
  }
  return true;
}

}  // namespace

Result<bool> lower_rnn(LowerContext& ctx, const Node& node) {
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kRnn, node.num_inputs()));
  auto& params = step.problem.as<RnnParams>();
  const auto kind = choice_from_name<RnnKind>(lower_case(node.op().name));
  const auto direction = choice_from_name<RnnDirection>(node.attr_string("direction", "forward"));
  if (!kind || !direction || !read_activations(node, &params.activations)) return false;
  params.kind = *kind;
  params.direction = *direction;
  params.hidden = node.attr_int("hidden");
  params.layout = node.attr_int("layout", 0) != 0;
  params.linear_before_reset = node.attr_int("linear_before_reset", 0) != 0;
  params.input_forget = node.attr_int("input_forget", 0) != 0;
  params.activation_alpha = node.attr_floats("activation_alpha");
  params.activation_beta = node.attr_floats("activation_beta");
  params.clip = node.attr_float("clip", 0);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
