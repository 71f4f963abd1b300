// A lowered network as plain data: what lowering produces, the tuner completes, the plan stores and the runtime runs.
// Knows no op and no graph. Everything here may come from a hostile file: verify_program (plan/verify.h) proves it
// first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/indices.h"
#include "backend/kernel.h"
#include "backend/problem.h"
#include "backend/shape_program.h"
#include "base/tensor.h"

namespace wootz {

struct RefitRecipe;  // backend/refit.h

enum class TensorKind : uint8_t {
  kInput,         // bound by the user
  kOutput,        // bound by the user, written by a step
  kConstant,      // bytes in the weights section
  kIntermediate,  // lives in the arena
  kView,          // bytes of another tensor (`view_of`) under another shape: all of them, or from `offset` on
  kShape,    // a small integer tensor whose elements are expressions (`values`), written when the shape is resolved
  kSubview,  // one of the `subviews` of `view_of`: a step that writes it writes there
};

struct PlanTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Layout layout = Layout::kLinear;
  TensorKind kind = TensorKind::kIntermediate;
  std::vector<ExpressionIndex> dims;  // one per axis
  TensorIndex view_of;                // kView, kSubview
  ExpressionIndex offset;             // kView: the element of view_of it begins at; none: it is all of view_of
  std::vector<TensorIndex>
      subviews;  // kIntermediate, kOutput, kSubview: made of these, one after the other. No step writes it
  std::vector<ExpressionIndex> values;  // kShape
  ConstantIndex constant;               // kConstant
};

// A weight as a kernel wants it. Plain row-major, or packed by the tactic of the one step that uses it (kOpaque).
struct PlanConstant {
  std::string name;  // of the model's weight, for refit and reports
  DType dtype = DType::kInvalid;
  Dims dims;  // logical
  Layout layout = Layout::kLinear;
  uint32_t form_version = 0;  // of a packed one: PackedForm::version
  size_t bytes = 0;
  std::shared_ptr<const void> owner;  // keeps data alive (heap, or the mapped plan)
  const void* data = nullptr;
  // While a program is built, in place of the data: writes the bytes of a packed weight when they are wanted.
  std::function<Status(std::span<std::byte>)> make;

  bool has_bytes() const { return bytes == 0 || data != nullptr || make != nullptr; }
};
// The bytes of a constant, made in `scratch` unless they are in memory already; valid as long as both live.
Result<std::span<const std::byte>> bytes_of(const PlanConstant& constant, RawBytes* scratch);
// What bytes_of() read will not be read soon: bytes of a mapped file leave the process's memory.
void release_pages(const PlanConstant& constant);

struct Step {
  std::string name;                     // like "conv1 + relu1"
  std::vector<std::string> provenance;  // names of the model's nodes
  Problem problem;                      // layouts filled in by the tuner
  Tactic tactic;                        // empty until chosen
  std::vector<TensorIndex> inputs;      // none: omitted
  std::vector<TensorIndex> outputs;
  size_t workspace = 0;    // at the largest profile, for reports
  float measured_us = -1;  // by the tuner, -1: not timed
  uint8_t stream = 0;      // of a device with queues: 0 the caller's, the others auxiliary, to run beside it
};

// Most streams of one program.
inline constexpr uint8_t kMostStreams = 8;

struct IoTensor {
  TensorIndex tensor;
  bool is_shape_tensor = false;  // input whose values decide shapes
};

// One optimization profile: the range of every symbol, in the order of Program::symbols (data-dependent ones: -1).
struct SymbolRange {
  int64_t min = -1, opt = -1, max = -1;
};
struct PlanProfile {
  IndexedVector<SymbolIndex, SymbolRange> symbols;
  int32_t body = -1;  // of Program::bodies: what runs shapes of this profile, whose only profile it is; -1: the program
};

// What must hold of the shapes of a call: an expression that is not 0, and what is wrong where it is.
struct ShapeCheck {
  ExpressionIndex expr;
  std::string message;
};

struct Program {
  std::string name;
  std::string backend;  // "cpu", "reference", "cuda"
  std::string device;   // DeviceDescription as JSON: what the tactics were chosen for
  IndexedVector<ExpressionIndex, ShapeExpr> exprs;
  IndexedVector<SymbolIndex, PlanSymbol> symbols;
  IndexedVector<TensorIndex, PlanTensor> tensors;
  IndexedVector<ConstantIndex, PlanConstant> constants;
  IndexedVector<StepIndex, Step> steps;  // in execution order
  std::vector<IoTensor> inputs, outputs;
  std::vector<PlanProfile> profiles;
  // What the public API keeps beside the steps, by name ("profiling_verbosity", "debug_tensors", ...): stored as it is.
  std::map<std::string, std::string, std::less<>> properties;
  // Machine code for kernels of these steps. Nothing of it is looked at before its owner's permission.
  std::vector<NativeCode> native;
  // What steps of family `control` run (backend/control.h), and the same network as it was tuned for other profiles:
  // programs without device, properties and machine code of their own.
  std::vector<Program> bodies;
  std::vector<ShapeCheck> checks;
  // Of a plan whose weights can be replaced; null: it is none. Bodies have none.
  std::shared_ptr<const RefitRecipe> refit;
  // Without the bytes of its constants, and of those of its bodies: a refit brings them all (plan/strip.h).
  bool stripped = false;
};

// Kernels of a program's steps; equal steps share one.
using StepKernels = IndexedVector<StepIndex, std::shared_ptr<const Kernel>>;

// The program that runs shapes of a profile, and the profile's number in it.
struct ProfileProgram {
  const Program* program;
  size_t profile;
};
ProfileProgram program_of(const Program& program, size_t profile);
// Whether a body runs profiles; otherwise a control step runs it.
bool runs_profile(const Program& program, size_t body);

// Of all constants, those of the bodies included. Bytes that several have in one place count once.
size_t constant_bytes(const Program& program);

// Makes what is left to make, in memory of its own: for a program that is run without being written first.
Status make_constants(Program* program);

// Errors: overflow, division by zero, a negative result where it is used as an extent is the caller's to check.
Status evaluate_shapes(const Program& program, std::span<const int64_t> symbol_values, ShapeValues* out);
// The first of the program's checks that does not hold, as far as values are known.
Status check_shapes(const Program& program, const ShapeValues& shapes);
// Extents of a tensor, or nullopt when one is unknown.
std::optional<Dims> tensor_dims(const PlanTensor& tensor, const ShapeValues& shapes);

}  // namespace wootz
