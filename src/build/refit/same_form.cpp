#include "build/refit/same_form.h"

#include <cstring>

namespace wootz {
namespace {

bool same(const ShapeExpr& a, const ShapeExpr& b) {
  return a.op == b.op && a.value == b.value && a.operands == b.operands;
}
bool same(const PlanSymbol& a, const PlanSymbol& b) {
  return a.source == b.source && a.tensor == b.tensor && a.axis == b.axis;
}
bool same(const PlanTensor& a, const PlanTensor& b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.kind == b.kind && a.dims == b.dims && a.view_of == b.view_of &&
         a.offset == b.offset && a.subviews == b.subviews && a.values == b.values && a.constant == b.constant;
}
bool same(const PlanConstant& a, const PlanConstant& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.layout == b.layout && a.bytes == b.bytes;
}
bool same(const IoTensor& a, const IoTensor& b) {
  return a.tensor == b.tensor && a.is_shape_tensor == b.is_shape_tensor;
}
bool same(const ShapeCheck& a, const ShapeCheck& b) { return a.expr == b.expr; }
bool same(const SymbolRange& a, const SymbolRange& b) { return a.min == b.min && a.opt == b.opt && a.max == b.max; }
bool same(const PlanProfile& a, const PlanProfile& b);
bool same(const TensorDesc& a, const TensorDesc& b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.dims == b.dims && a.max_dims == b.max_dims &&
         a.constant == b.constant;
}

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}
template <typename I, typename T>
bool same(const IndexedVector<I, T>& a, const IndexedVector<I, T>& b) {
  return same(a.items(), b.items());
}
bool same(const PlanProfile& a, const PlanProfile& b) { return a.body == b.body && same(a.symbols, b.symbols); }

// All of a step but what its problem's parameters and epilogue say.
bool same(const Step& a, const Step& b) {
  return a.problem.family() == b.problem.family() && a.tactic == b.tactic && a.inputs == b.inputs &&
         a.outputs == b.outputs && same(a.problem.inputs, b.problem.inputs) &&
         same(a.problem.outputs, b.problem.outputs) && a.problem.num_main == b.problem.num_main &&
         a.problem.acc_dtype == b.problem.acc_dtype && a.problem.passing == b.problem.passing;
}

Status compare_steps(const Program& before, const Program& after, std::vector<std::pair<StepIndex, Problem>>* changed) {
  if (before.steps.size() != after.steps.size())
    return make_error(Code::kInvalidState, "{} steps, there were {}", after.steps.size(), before.steps.size());
  for (const StepIndex s : before.steps.indices()) {
    const Step &a = before.steps[s], &b = after.steps[s];
    if (!same(a, b)) return make_error(Code::kInvalidState, "it is another step").at(PlaceKind::kLayer, a.name);
    if (a.problem.key() != b.problem.key()) changed->emplace_back(s, b.problem);
  }
  return Status();
}

Result<bool> same_bytes(const PlanConstant& a, const PlanConstant& b, RawBytes* a_scratch, RawBytes* b_scratch) {
  WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> old_bytes, bytes_of(a, a_scratch));
  WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> new_bytes, bytes_of(b, b_scratch));
  if (old_bytes.size() != new_bytes.size()) return false;
  return old_bytes.empty() || old_bytes.data() == new_bytes.data() ||
         std::memcmp(old_bytes.data(), new_bytes.data(), old_bytes.size()) == 0;
}

Status compare_bodies(const Program& before, const Program& after, ProgramUpdate* update) {
  if (before.bodies.size() != after.bodies.size())
    return make_error(Code::kInvalidState, "another number of bodies of control steps and profiles");
  update->bodies.resize(before.bodies.size());
  for (size_t b = 0; b < before.bodies.size(); ++b)
    WOOTZ_RETURN_IF_ERROR(compare_forms(before.bodies[b], after.bodies[b], &update->bodies[b]));
  return Status();
}

}  // namespace

Status compare_forms(const Program& before, const Program& after, ProgramUpdate* update) {
  WOOTZ_RETURN_IF_ERROR(compare_steps(before, after, &update->steps));
  const auto other = [](const char* what) { return make_error(Code::kInvalidState, "{} are others", what); };
  if (!same(before.exprs, after.exprs) || !same(before.symbols, after.symbols)) return other("extents");
  if (!same(before.tensors, after.tensors)) return other("tensors");
  if (!same(before.constants, after.constants)) return other("constants");
  if (!same(before.inputs, after.inputs) || !same(before.outputs, after.outputs)) return other("inputs or outputs");
  if (!same(before.profiles, after.profiles) || !same(before.checks, after.checks)) return other("checks of shapes");
  return compare_bodies(before, after, update);
}

Status add_changed_constants(const Program& before, const Program& after, ProgramUpdate* update) {
  RawBytes a_scratch, b_scratch;
  for (const ConstantIndex c : before.constants.indices()) {
    const PlanConstant &a = before.constants[c], &b = after.constants[c];
    bool equal = false;
    if (!before.stripped) {
      WOOTZ_ASSIGN_OR_RETURN(equal, same_bytes(a, b, &a_scratch, &b_scratch));
    }
    if (equal) continue;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::allocate(DType::kU8, Dims{static_cast<int64_t>(b.bytes)}));
    WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, bytes_of(b, &b_scratch));
    if (!bytes.empty()) std::memcpy(copy.mutable_data(), bytes.data(), bytes.size());
    PlanConstant made = a;
    made.form_version = b.form_version;
    made.make = nullptr;
    made.owner = std::make_shared<HostTensor>(copy);
    made.data = copy.data();
    update->constants.emplace_back(c, std::move(made));
  }
  for (size_t b = 0; b < before.bodies.size(); ++b)
    WOOTZ_RETURN_IF_ERROR(add_changed_constants(before.bodies[b], after.bodies[b], &update->bodies[b]));
  return Status();
}

}  // namespace wootz
