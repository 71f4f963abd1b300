#include "backend/pack_constants.h"

#include "backend/relayout.h"
#include "base/mapped.h"
#include "base/tensor.h"

namespace wootz {
namespace {

void drop_unused(Program* program) {
  IndexedVector<ConstantIndex, uint8_t> used(program->constants.size(), 0);
  IndexedVector<TensorIndex, uint8_t> live(program->tensors.size(), 0);
  for (const Step& step : program->steps)
    for (const TensorIndex t : step.inputs)
      if (t.exists()) live[t] = 1;
  for (const PlanTensor& t : program->tensors)
    if (t.kind == TensorKind::kView) live[t.view_of] = 1;
  for (const TensorIndex t : program->tensors.indices())
    if (program->tensors[t].kind == TensorKind::kConstant && live[t]) used[program->tensors[t].constant] = 1;
  IndexedVector<ConstantIndex, PlanConstant> kept;
  IndexedVector<ConstantIndex, ConstantIndex> index(program->constants.size());
  for (const ConstantIndex c : program->constants.indices())
    if (used[c]) index[c] = kept.add(std::move(program->constants[c]));
  program->constants = std::move(kept);
  // Tensors keep their numbers. One that lost its constant becomes an intermediate of no extent that nothing touches.
  for (PlanTensor& t : program->tensors) {
    if (t.kind != TensorKind::kConstant) continue;
    t.constant = index[t.constant];
    if (!t.constant.exists()) t.kind = TensorKind::kIntermediate;
  }
}

PackedForm relaid(const HostTensor& plain, Layout layout) {
  return {layout_bytes(layout, plain.dtype(), plain.dims()), [plain, layout](std::span<std::byte> bytes) -> Status {
            return move_to_layout(plain.data(), Layout::kLinear, bytes.data(), layout, plain.dtype(), plain.dims());
          }};
}

// The constant in another form, which is made of its `plain` values when it is asked for: by `kernel`, unless null.
PlanConstant packed_constant(const PlanConstant& source, Layout layout, PackedForm form, const HostTensor& plain,
                             std::shared_ptr<const Kernel> kernel, const std::string& where) {
  PlanConstant made;
  made.name = source.name;
  made.dtype = source.dtype;
  made.dims = source.dims;
  made.layout = layout;
  made.bytes = form.bytes;
  made.form_version = form.version;
  made.make = [make = std::move(form.make), plain, kernel = std::move(kernel), where](std::span<std::byte> bytes) {
    fetch_mapped({static_cast<const std::byte*>(plain.data()), plain.bytes()});
    const Status status = make(bytes);
    plain.release_pages();
    return status.ok() ? status : status.with_prefix(where);
  };
  return made;
}

// By input, as they are; nothing where an input is no constant, or has a form already.
std::vector<HostTensor> plain_constants(const Program& program, const Step& step) {
  std::vector<HostTensor> plain(step.inputs.size());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].exists() || !step.problem.inputs[i].constant) continue;
    const PlanTensor& tensor = program.tensors[step.inputs[i]];
    if (tensor.kind != TensorKind::kConstant) continue;
    const PlanConstant& source = program.constants[tensor.constant];
    if (source.layout == Layout::kLinear)
      plain[i] = HostTensor::wrap(source.dtype, source.dims, source.data, source.owner);
  }
  return plain;
}

std::string form_text(bool packed, uint32_t version, size_t bytes) {
  return packed ? fmt::format("packed in form {} ({} bytes)", version, bytes) : "as it is";
}

}  // namespace

Status check_forms(const Program& program, const Step& step, const Kernel& kernel) {
  std::vector<const PlanConstant*> constants(step.inputs.size(), nullptr);
  std::vector<HostTensor> sources(step.inputs.size());  // of no bytes: the form alone is asked for
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const TensorDesc& desc = step.problem.inputs[i];
    if (!step.inputs[i].exists() || !desc.constant) continue;
    const PlanTensor& tensor = program.tensors[step.inputs[i]];
    if (tensor.kind != TensorKind::kConstant) continue;
    constants[i] = &program.constants[tensor.constant];
    sources[i] = HostTensor::wrap(desc.dtype, desc.dims, nullptr, nullptr);
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    const PlanConstant* c = constants[i];
    if (c == nullptr || (c->layout != Layout::kOpaque && c->layout != Layout::kLinear)) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::optional<PackedForm> form, kernel.pack_among(static_cast<int>(i), sources));
    const bool packed = c->layout == Layout::kOpaque;
    if (packed == form.has_value() && (!packed || (c->form_version == form->version && c->bytes == form->bytes)))
      continue;
    return unsupported(
        "weights '{}' are {}, and {} reads them {}: the plan was built by another version of the library; build it "
        "again",
        c->name, form_text(packed, c->form_version, c->bytes), step.tactic.to_string(),
        form_text(form.has_value(), form ? form->version : 0, form ? form->bytes : 0));
  }
  return Status();
}

Status pack_constants(Program* program, KernelCache& kernels) {
  for (Step& step : program->steps) {
    bool any = false;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      any = any || (step.inputs[i].exists() && step.problem.inputs[i].constant);
    if (!any) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, kernels.get(step));
    const std::vector<HostTensor> sources = plain_constants(*program, step);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const HostTensor& plain = sources[i];
      if (!plain.valid()) continue;
      const PlanTensor tensor = program->tensors[step.inputs[i]];
      const PlanConstant source = program->constants[tensor.constant];
      const std::string where = fmt::format("layer '{}': packing '{}'", step.name, source.name);
      Result<std::optional<PackedForm>> packed = kernel->pack_among(static_cast<int>(i), sources);
      if (!packed.ok()) return packed.status().with_prefix(where);
      Layout& layout = step.problem.inputs[i].layout;
      PlanConstant made;
      if (packed->has_value()) {
        layout = Layout::kOpaque;
        made = packed_constant(source, layout, **packed, plain, kernel, where);
      } else if (layout != Layout::kLinear && source.dims.rank() >= 3 && layout != Layout::kOpaque) {
        made = packed_constant(source, layout, relaid(plain, layout), plain, nullptr, where);
      } else {
        continue;
      }
      PlanTensor own = tensor;
      own.layout = made.layout;
      own.constant = program->constants.add(std::move(made));
      step.inputs[i] = program->tensors.add(std::move(own));
    }
  }
  drop_unused(program);
  return Status();
}

}  // namespace wootz
