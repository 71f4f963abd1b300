#include "backend/program.h"

#include <algorithm>
#include <set>

#include "base/mapped.h"

namespace wootz {

Status evaluate_shapes(const Program& program, std::span<const int64_t> symbol_values, ShapeValues* out) {
  out->values.assign(program.exprs.size(), 0);
  out->known.assign(program.exprs.size(), 0);
  for (const ExpressionIndex i : program.exprs.indices())
    WOOTZ_RETURN_IF_ERROR(evaluate_shape(program.exprs, i, symbol_values, out).status());
  return Status();
}

Status check_shapes(const Program& program, const ShapeValues& shapes) {
  for (const ShapeCheck& check : program.checks) {
    if (shapes.known[check.expr] && shapes.values[check.expr] == 0) return invalid_argument("{}", check.message);
  }
  return Status();
}

std::optional<Dims> tensor_dims(const PlanTensor& tensor, const ShapeValues& shapes) {
  Dims dims;
  for (const ExpressionIndex e : tensor.dims) {
    if (!shapes.known[e]) return std::nullopt;
    dims.push_back(shapes.values[e]);
  }
  return dims;
}

Result<std::span<const std::byte>> bytes_of(const PlanConstant& constant, RawBytes* scratch) {
  if (!constant.make) return std::span(static_cast<const std::byte*>(constant.data), constant.bytes);
  WOOTZ_ASSIGN_OR_RETURN(*scratch, make_bytes({constant.bytes, constant.make}, std::move(*scratch)));
  return std::span<const std::byte>(*scratch);
}

void release_pages(const PlanConstant& constant) {
  if (constant.data != nullptr) release_mapped({static_cast<const std::byte*>(constant.data), constant.bytes});
}

ProfileProgram program_of(const Program& program, size_t profile) {
  const int32_t body = program.profiles[profile].body;
  return body < 0 ? ProfileProgram{&program, profile} : ProfileProgram{&program.bodies[static_cast<size_t>(body)], 0};
}

bool runs_profile(const Program& program, size_t body) {
  return std::any_of(program.profiles.begin(), program.profiles.end(),
                     [&](const PlanProfile& profile) { return profile.body == static_cast<int32_t>(body); });
}

namespace {

// Programs share constants by address. A stripped program's all lie at the same zeros, and its profiles' programs,
// which will share theirs, are counted once.
size_t add_constants(const Program& program, bool stripped, std::set<std::pair<const void*, size_t>>* seen) {
  size_t bytes = 0;
  for (const PlanConstant& c : program.constants)
    if (stripped || c.data == nullptr || seen->insert({c.data, c.bytes}).second) bytes += c.bytes;
  for (size_t b = 0; b < program.bodies.size(); ++b)
    if (!stripped || !runs_profile(program, b)) bytes += add_constants(program.bodies[b], stripped, seen);
  return bytes;
}

}  // namespace

size_t constant_bytes(const Program& program) {
  std::set<std::pair<const void*, size_t>> seen;
  return add_constants(program, program.stripped, &seen);
}

Status make_constants(Program* program) {
  for (PlanConstant& constant : program->constants) {
    if (!constant.make) continue;
    WOOTZ_ASSIGN_OR_RETURN(RawBytes made, make_bytes({constant.bytes, constant.make}));
    const auto keep = std::make_shared<const RawBytes>(std::move(made));
    constant.owner = keep;
    constant.data = keep->data();
    constant.make = nullptr;
  }
  for (Program& body : program->bodies) WOOTZ_RETURN_IF_ERROR(make_constants(&body));
  return Status();
}

}  // namespace wootz
