// A loaded program as the public queries see it: inputs and outputs by name, their shapes in each profile, what the
// build kept beside the steps. Made once, then only read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine_core.h"
#include "runtime/report/properties.h"

namespace wootz {

struct IoInfo {
  const char* name = "";  // of the program's tensor
  bool is_input = false;
  size_t number = 0;  // in Program::inputs or outputs
  TensorIndex tensor;
  DType dtype = DType::kInvalid;
  bool shape_tensor = false;
};

// One end of a profile's ranges, or what it is optimized for.
enum class ProfileEnd : int { kMin, kOpt, kMax };

class EngineInfo {
 public:
  // `program` is verified. The properties are not: what does not fit is taken as absent.
  static Result<std::shared_ptr<const EngineInfo>> create(std::shared_ptr<EngineCore> core);

  // The same of the program that runs shapes of a profile: of `info` itself, or of one of its program's bodies. There
  // the profile has number 0.
  static std::shared_ptr<const EngineInfo> of_profile(const std::shared_ptr<const EngineInfo>& info, size_t profile);
  // Those of all programs, this one's first.
  std::vector<const EngineInfo*> all() const;

  const EngineCore& core() const { return *core_; }
  const std::shared_ptr<EngineCore>& core_ptr() const { return core_; }
  const Program& program() const { return core_->program(); }
  const std::vector<IoInfo>& ios() const { return ios_; }  // inputs first
  // Null for a name that is no input or output (null included).
  const IoInfo* find(const char* name) const;
  Result<const IoInfo*> get(const char* name) const;  // with the known names in the message

  int32_t property_int(std::string_view name, int32_t fallback) const;
  const std::map<std::string, TensorIndex, std::less<>>& debug_tensors() const { return debug_tensors_; }
  // What the build kept of the tensor's format, as the API numbers it; -1: nothing.
  int32_t format_number(const IoInfo& io) const;
  bool debug_unfused() const { return property_int(property::kDebugUnfused, 0) != 0; }

  size_t num_profiles() const { return program().profiles.size(); }
  // Symbols at one end of a profile's ranges; data-dependent ones are -1.
  std::vector<int64_t> profile_symbols(size_t profile, ProfileEnd end) const;
  // Extents under a binding of symbols (-1: unknown); -1 for what they do not tell.
  Result<Dims> shape_under(TensorIndex tensor, const std::vector<int64_t>& symbols) const;
  Result<Dims> open_shape(TensorIndex tensor) const;  // -1 wherever it is not a constant

  // Values of an input shape tensor in a profile; null when there are none.
  const std::vector<int64_t>* profile_values(const IoInfo& io, size_t profile, ProfileEnd end) const;
  const std::vector<int32_t>* profile_values_32(const IoInfo& io, size_t profile, ProfileEnd end) const;
  size_t largest_memory() const { return largest_memory_; }
  size_t memory(size_t profile) const { return memory_[profile]; }
  // What that memory is made of.
  Result<MemoryReport> memory_report(size_t profile) const;
  size_t weight_bytes() const;

 private:
  EngineInfo() = default;
  // `whole`: of the program that has this one as a body; null: it is the whole.
  static Result<std::shared_ptr<EngineInfo>> describe(std::shared_ptr<EngineCore> core, const EngineInfo* whole);
  Status add_bodies();
  const std::map<std::string, std::string, std::less<>>& properties() const;
  void read_properties();
  void collect_profile_values();

  std::shared_ptr<EngineCore> core_;
  std::shared_ptr<EngineCore> whole_;                            // whose properties count; null: its own do
  std::map<int32_t, std::shared_ptr<const EngineInfo>> bodies_;  // that run profiles, by number
  std::vector<IoInfo> ios_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, TensorIndex, std::less<>> debug_tensors_;
  std::map<std::string, int32_t, std::less<>> formats_;
  // By (input number, profile, selector).
  std::map<std::tuple<size_t, size_t, int>, std::vector<int64_t>> values_;
  std::map<std::tuple<size_t, size_t, int>, std::vector<int32_t>> values_32_;
  std::vector<size_t> memory_;
  size_t largest_memory_ = 0;
};

// Extents of a tensor under evaluated shapes, -1 where unknown.
Dims dims_with_holes(const PlanTensor& tensor, const ShapeValues& shapes);

}  // namespace wootz
