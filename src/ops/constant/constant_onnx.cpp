#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_constant(ImportContext& ctx) {
  HostTensor value;
  if (ctx.has_attr("value")) {
    WOOTZ_ASSIGN_OR_RETURN(value, ctx.attr_tensor("value"));
  } else if (ctx.has_attr("value_float")) {
    value = HostTensor::scalar<float>(static_cast<float>(ctx.attr_float("value_float", 0)));
  } else if (ctx.has_attr("value_int")) {
    value = HostTensor::scalar<int64_t>(ctx.attr_int("value_int", 0));
  } else if (ctx.has_attr("value_floats")) {
    const std::vector<double> list = ctx.attr_floats("value_floats");
    const std::vector<float> floats(list.begin(), list.end());
    value = HostTensor::from<float>(floats, Dims{static_cast<int64_t>(floats.size())});
  } else if (ctx.has_attr("value_ints")) {
    const std::vector<int64_t> list = ctx.attr_ints("value_ints");
    value = HostTensor::from<int64_t>(list, Dims{static_cast<int64_t>(list.size())});
  } else if (ctx.has_attr("sparse_value")) {
    return unsupported("sparse constants");
  } else if (ctx.has_attr("value_string") || ctx.has_attr("value_strings")) {
    return unsupported("constants of strings");
  } else {
    return ctx.fail("no value is given");
  }
  if (!value.valid()) return ctx.fail("the value does not fit into memory");
  ctx.set_output(0, ctx.add_constant(std::move(value)));
  return Status();
}

Status import_constant_of_shape(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.has_attr("value")) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor value, ctx.attr_tensor("value"));
    attrs["value"] = std::move(value);
  }
  return import_as(ctx, "ConstantOfShape", {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kConstantImports[] = {{"Constant", 1, import_constant},
                                           {"ConstantOfShape", 9, import_constant_of_shape}};

}  // namespace

std::span<const OnnxImport> constant_onnx() { return kConstantImports; }

}  // namespace wootz::ops
