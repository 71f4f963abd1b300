// Where the model's values are in a plan, for debug taps: in a tensor, inside a step, or nowhere.
#pragma once

#include <string>
#include <vector>

#include "backend/program.h"
#include "base/json.h"

namespace wootz {

// Why a value is in no tensor and no step.
namespace value_code {
inline constexpr char kConstant[] = "constant";  // known while building, packed into the steps that use it
inline constexpr char kShape[] = "shape";        // worked out with the shapes, or never asked for
inline constexpr char kRemoved[] = "pass:";      // followed by the pass after which nothing computed it
}  // namespace value_code

// property::kValues as a lookup. The property comes from the plan file: what does not fit is taken as absent.
class ValueMap {
 public:
  explicit ValueMap(const Program& program);
  // False for plans that were built without (profiling verbosity kNONE).
  bool known() const { return json_.is_object(); }
  // The program's tensor that holds the value (inputs, outputs and steps' own tensors included).
  // Errors: the value is inside a step, with the step's name and the nearest values that exist; it was folded away; the
  // name is unknown, with names that resemble it.
  Result<TensorIndex> find(std::string_view name) const;
  struct Entry {
    std::string name;
    TensorIndex tensor;            // none: in no tensor
    std::vector<StepIndex> steps;  // that hold it inside
    std::string why;               // a value_code, where there is neither
  };
  std::vector<Entry> entries() const;  // of the model's values, by name

 private:
  Entry entry(std::string_view name, const SortedJson& json) const;
  Status absent(const Entry& entry) const;

  const Program& program_;
  SortedJson json_;
};

// The tensors that steps write (or the application hands in) in whose memory a tensor's elements are: itself, what it
// is a view of, the subviews it is made of.
std::vector<TensorIndex> written_tensors(const Program& program, TensorIndex tensor);

// Names of the tensors that a list of steps reads from outside and leaves to others: the boundary of a fused region.
struct Boundary {
  std::vector<std::string> inputs, outputs;
};
Boundary boundary_of(const Program& program, const std::vector<StepIndex>& steps);

}  // namespace wootz
