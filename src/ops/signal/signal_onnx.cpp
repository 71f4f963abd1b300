#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

Status import_dft(ImportContext& ctx) {
  int64_t axis = ctx.attr_int("axis", 1);
  if (ctx.opset() >= 20) {
    axis = -2;
    if (ctx.has_input(2)) {
      const std::vector<int64_t> given = ctx.constant_ints(2);
      if (given.size() != 1) return ctx.fail("the axis must be a constant");
      axis = given[0];
    }
  }
  std::vector<Value*> inputs{ctx.input(0)};
  if (ctx.has_input(1)) inputs.push_back(ctx.input(1));
  Composer c(ctx);
  return c.output(
      0, c.op("DFT", std::move(inputs),
              {{"axis", axis}, {"inverse", ctx.attr_int("inverse", 0)}, {"onesided", ctx.attr_int("onesided", 0)}}));
}

Status import_stft(ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  Composer c(ctx);
  return c.output(0, c.op("STFT", std::move(inputs), {{"onesided", ctx.attr_int("onesided", 1)}}));
}

Status import_mel(ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  Composer c(ctx);
  const DType to = ctx.attr_dtype("output_datatype", DType::kF32);
  return c.output(0, c.op("MelWeightMatrix", std::move(inputs), {{"to", std::string(dtype_name(to))}}));
}

}  // namespace

std::span<const OnnxImport> signal_onnx() {
  static constexpr OnnxImport kSignalImports[] = {
      {"DFT", 17, import_dft}, {"MelWeightMatrix", 17, import_mel}, {"STFT", 17, import_stft}};
  return kSignalImports;
}

}  // namespace wootz::ops
