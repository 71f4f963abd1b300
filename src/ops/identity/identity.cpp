// Identity: the same tensor under another name.
#include "ops/infer.h"
#include "ops/module_table.h"
#include "ops/support/copy.h"

namespace wootz::ops {
namespace {

Status identity_reference(EvalContext& ctx) {
  share_elements(ctx.in(0), ctx.outputs[0]);
  return Status();
}

const OpDef kIdentity{.name = "Identity",
                      .attributes = {},
                      .infer = infer_same_as_input,
                      .reference = identity_reference,
                      .lowering = Lowering::kView,
                      .traits = {}};
const OpDef* const kIdentityDefs[] = {&kIdentity};

}  // namespace

std::span<const OpDef* const> identity_ops() { return kIdentityDefs; }

}  // namespace wootz::ops
