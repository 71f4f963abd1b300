// LSTM, GRU and RNN.
#include <cctype>

#include "lower/context.h"

namespace wootz {

Result<bool> lower_rnn(LowerContext& ctx, const Node& node) {
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kRnn, node.num_inputs()));
  auto& params = step.problem.params;
  std::string kind = node.op().name;
  for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  params["kind"] = std::move(kind);
  params["hidden"] = node.attr_int("hidden");
  params["direction"] = node.attr_string("direction", "forward");
  for (const char* name : {"layout", "linear_before_reset", "input_forget"})
    if (node.attr_int(name, 0) != 0) params[name] = int64_t{1};
  if (node.has_attr("activations")) params["activations"] = node.attr_string("activations");
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (node.has_attr(name)) params[name] = node.attr_floats(name);
  if (node.has_attr("clip")) params["clip"] = node.attr_float("clip");
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
