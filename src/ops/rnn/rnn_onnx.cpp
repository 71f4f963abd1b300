#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

Status import_recurrent(ImportContext& ctx) {
  for (int i = 0; i < 3; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  AttrMap attrs;
  int64_t hidden = ctx.attr_int("hidden_size", 0);
  const Shape& r = ctx.input(2)->shape();
  if (hidden == 0 && r.size() == 3 && r[2].is_const()) hidden = r[2].value();
  attrs["hidden"] = hidden;
  attrs["direction"] = ctx.attr_string("direction", "forward");
  std::string activations;
  for (const std::string& name : ctx.attr_strings("activations"))
    activations += (activations.empty() ? "" : ",") + name;
  if (!activations.empty()) attrs["activations"] = activations;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (const std::vector<double> values = ctx.attr_floats(name); !values.empty()) attrs[name] = values;
  if (ctx.has_attr("clip")) attrs["clip"] = ctx.attr_float("clip", 0);
  for (const char* name : {"layout", "linear_before_reset", "input_forget"})
    if (ctx.attr_int(name, 0) != 0) attrs[name] = int64_t{1};
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  while (inputs.back() == nullptr) inputs.pop_back();
  int outputs = 1;
  for (int i = 1; i < ctx.num_outputs(); ++i)
    if (ctx.wants_output(i)) outputs = i + 1;
  Composer c(ctx);
  Node* node = c.node(ctx.op_type(), std::move(inputs), std::move(attrs), outputs);
  for (int i = 0; i < outputs && node != nullptr; ++i) WOOTZ_RETURN_IF_ERROR(c.output(i, node->output(i)));
  return c.status();
}

}  // namespace

std::span<const OnnxImport> rnn_onnx() {
  static constexpr OnnxImport kRnnImports[] = {
      {"GRU", 1, import_recurrent},
      {"LSTM", 1, import_recurrent},
      {"RNN", 1, import_recurrent},
  };
  return kRnnImports;
}

}  // namespace wootz::ops
