#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_identity(ImportContext& ctx) { return import_as(ctx, "Identity", {ctx.input(0)}); }

// A mask that keeps everything, of type `dtype`.
Status set_full_mask(ImportContext& ctx, DType dtype) {
  if (!ctx.wants_output(1)) return Status();
  WOOTZ_ASSIGN_OR_RETURN(HostTensor one, HostTensor::allocate(dtype, Dims{}));
  one.set_i64(0, 1);
  WOOTZ_ASSIGN_OR_RETURN(Value * shape, ctx.emit("Shape", {ctx.input(0)}));
  WOOTZ_ASSIGN_OR_RETURN(Value * mask, ctx.emit("Expand", {ctx.add_constant(std::move(one)), shape}));
  ctx.set_output(1, mask);
  return Status();
}

// Networks are run, not trained, so dropout passes its input on. (Before opset 7 an attribute told training from test.)
Status import_dropout_1(ImportContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(import_identity(ctx));
  return set_full_mask(ctx, ctx.input(0)->dtype());
}

Status import_dropout_10(ImportContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(import_identity(ctx));
  return set_full_mask(ctx, DType::kBool);
}

// From opset 12 the mode is an input. Training mode drops nothing when the ratio is zero.
Status import_dropout_12(ImportContext& ctx) {
  if (ctx.has_input(2)) {
    const HostTensor* training = ctx.constant(2);
    if (training == nullptr) return unsupported("training_mode is computed at run time; only inference is supported");
    if (training->volume() != 1) return ctx.fail("training_mode has shape {}", training->dims().to_string());
    if (training->get_i64(0) != 0) {
      const HostTensor* ratio = ctx.constant(1);
      const bool drops_nothing = ctx.has_input(1) && ratio != nullptr && ratio->volume() == 1 && ratio->get_f64(0) == 0;
      if (!drops_nothing) return unsupported("training_mode is true with a ratio above zero: random dropout");
    }
  }
  return import_dropout_10(ctx);
}

constexpr OnnxImport kIdentityImports[] = {
    {"Dropout", 1, import_dropout_1},
    {"Dropout", 10, import_dropout_10},
    {"Dropout", 12, import_dropout_12},
    {"Identity", 1, import_identity},
};

}  // namespace

std::span<const OnnxImport> identity_onnx() { return kIdentityImports; }

}  // namespace wootz::ops
