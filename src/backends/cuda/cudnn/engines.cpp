#include "backends/cuda/cudnn/engines.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace wootz::cuda {

using cudnn::Attribute;
using cudnn::Kind;
using cudnn::Note;
using cudnn::ValueType;

namespace {

struct Knob {
  int64_t number;
  int value;
};
constexpr Knob kKnobs[] = {
#define KNOB(number, name, value) {number, value},
#include "backends/cuda/api/cudnn_knobs.def"
#undef KNOB
};
constexpr int64_t kOtherKnobs = 1000;
constexpr int64_t kMostNotes = 64, kMostKnobs = 64;

int64_t number_of_knob(int value) {
  const auto* found =
      std::find_if(std::begin(kKnobs), std::end(kKnobs), [&](const Knob& k) { return k.value == value; });
  return found != std::end(kKnobs) ? found->number : kOtherKnobs + value;
}

int knob_of_number(int64_t number) {
  const auto* found =
      std::find_if(std::begin(kKnobs), std::end(kKnobs), [&](const Knob& k) { return k.number == number; });
  return found != std::end(kKnobs) ? found->value
                                   : static_cast<int>(std::clamp<int64_t>(number - kOtherKnobs, -1, 1 << 20));
}

Result<CudnnDescriptor> engine_of(const CudnnDescriptor& config, const CudnnLibrary& library) {
  CudnnDescriptor engine(library, Kind::kEngine);
  void* raw = engine.raw();
  WOOTZ_RETURN_IF_ERROR(config.get(Attribute::kConfigEngine, ValueType::kDescriptor, 1, &raw).status());
  return engine;
}

using Knobs = std::map<int64_t, int64_t>;

// Values of an engine's knobs by our numbers for these, in order.
Result<Knobs> knobs_of(const CudnnDescriptor& config) {
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> chosen,
                         config.get_all(Attribute::kConfigKnobs, Kind::kKnobChoice, kMostKnobs));
  Knobs knobs;
  for (const CudnnDescriptor& choice : chosen) {
    int type = 0;
    WOOTZ_RETURN_IF_ERROR(choice.get(Attribute::kKnobType, ValueType::kKnobType, 1, &type).status());
    WOOTZ_ASSIGN_OR_RETURN(knobs[number_of_knob(type)], choice.get_number(Attribute::kKnobValue));
  }
  return knobs;
}

Result<bool> is_wanted(const CudnnDescriptor& config, const CudnnGraph& g, const CudnnLibrary& library) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnDescriptor engine, engine_of(config, library));
  Note notes[kMostNotes];
  WOOTZ_ASSIGN_OR_RETURN(const int64_t count,
                         engine.get(Attribute::kEngineNotes, ValueType::kNumericalNote, kMostNotes, notes));
  const bool exact = g.x.dtype == DType::kF32 && !g.tf32;
  return std::none_of(notes, notes + std::min<int64_t>(count, kMostNotes), [&](Note note) {
    return note == Note::kNondeterministic || note == Note::kNarrowSums ||
           (exact && (note == Note::kTensorCore || note == Note::kNarrowInputs));
  });
}

bool parse(std::string_view text, int64_t* engine, std::map<int64_t, int64_t>* knobs) {
  const auto number = [&](char end, int64_t* value) {
    const size_t at = text.find(end);
    if (at == std::string_view::npos) return false;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + at, *value);
    if (error != std::errc() || stop != text.data() + at) return false;
    text.remove_prefix(at + 1);
    return true;
  };
  if (!number(':', engine)) return false;
  while (!text.empty()) {
    int64_t knob = 0, value = 0;
    if (!number('=', &knob) || !number(',', &value)) return false;
    (*knobs)[knob] = value;
  }
  return true;
}

Result<CudnnBuilt> finished(CudnnDescriptor plan, const char* what) {
  WOOTZ_RETURN_IF_ERROR(plan.finish(what));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t workspace, plan.get_number(Attribute::kPlanWorkspace));
  if (workspace < 0) return unsupported("cuDNN, {}: a workspace of {} bytes", what, workspace);
  return CudnnBuilt{std::move(plan), static_cast<size_t>(workspace)};
}

}  // namespace

Result<std::vector<CudnnDescriptor>> propose_engines(const CudnnOperations& ops, const CudnnGraph& g) {
  const CudnnLibrary& library = ops.library();
  const int mode = cudnn::kModeA;
  CudnnDescriptor heuristics(library, Kind::kHeuristics);
  heuristics.set(Attribute::kHeuristicsGraph, ops.graph())
      .set(Attribute::kHeuristicsMode, ValueType::kHeuristicsMode, 1, &mode);
  if (ops.device()) heuristics.set(Attribute::kHeuristicsDevice, ops.device());
  WOOTZ_RETURN_IF_ERROR(heuristics.finish("heuristics"));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t most,
                         heuristics.get(Attribute::kHeuristicsResults, ValueType::kDescriptor, 0, nullptr));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> all,
                         heuristics.get_all(Attribute::kHeuristicsResults, Kind::kEngineConfig, most));
  std::vector<CudnnDescriptor> wanted;
  for (CudnnDescriptor& config : all) {
    WOOTZ_ASSIGN_OR_RETURN(const bool take, is_wanted(config, g, library));
    if (take) wanted.push_back(std::move(config));
  }
  if (wanted.empty()) return unsupported("cuDNN has no engine for it that is exact enough ({} proposed)", all.size());
  return wanted;
}

Result<bool> compiles(const CudnnDescriptor& config, const CudnnLibrary& library) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnDescriptor engine, engine_of(config, library));
  int notes[kMostNotes];
  WOOTZ_ASSIGN_OR_RETURN(const int64_t count,
                         engine.get(Attribute::kEngineBehavior, ValueType::kBehaviorNote, kMostNotes, notes));
  const auto compiles = [](int note) { return note == cudnn::kCompiles; };
  return std::any_of(notes, notes + std::min<int64_t>(count, kMostNotes), compiles);
}

Result<std::string> engine_text(const CudnnDescriptor& config, const CudnnLibrary& library) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnDescriptor engine, engine_of(config, library));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t index, engine.get_number(Attribute::kEngineIndex));
  WOOTZ_ASSIGN_OR_RETURN(const Knobs knobs, knobs_of(config));
  std::string text = fmt::format("{}:", index);
  for (const auto& [knob, value] : knobs) text += fmt::format("{}={},", knob, value);
  return text;
}

Result<CudnnDescriptor> engine_from_text(const std::string& text, const CudnnOperations& ops) {
  const CudnnLibrary& library = ops.library();
  int64_t index = 0;
  std::map<int64_t, int64_t> knobs;
  if (!parse(text, &index, &knobs)) return unsupported("'{}' is no engine of cuDNN's", text.substr(0, 100));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t engines, ops.graph().get_number(Attribute::kGraphEngines));
  if (index < 0 || index >= engines) return unsupported("cuDNN has {} engines for it, and none {}", engines, index);
  CudnnDescriptor engine(library, Kind::kEngine);
  engine.set(Attribute::kEngineGraph, ops.graph()).set(Attribute::kEngineIndex, index);
  if (ops.device()) engine.set(Attribute::kEngineDevice, ops.device());
  WOOTZ_RETURN_IF_ERROR(engine.finish("an engine"));
  std::vector<CudnnDescriptor> chosen;
  for (const auto& [number, value] : knobs) {
    const int type = knob_of_number(number);
    chosen.emplace_back(library, Kind::kKnobChoice);
    chosen.back().set(Attribute::kKnobType, ValueType::kKnobType, 1, &type).set(Attribute::kKnobValue, value);
    WOOTZ_RETURN_IF_ERROR(chosen.back().finish("a knob"));
  }
  const std::vector<void*> raw = raw_of(chosen);
  CudnnDescriptor config(library, Kind::kEngineConfig);
  config.set(Attribute::kConfigEngine, engine)
      .set(Attribute::kConfigKnobs, ValueType::kDescriptor, static_cast<int64_t>(raw.size()), raw.data());
  WOOTZ_RETURN_IF_ERROR(config.finish("an engine's knobs"));
  return config;
}

Result<CudnnBuilt> build_engine(const CudnnDescriptor& config, const CudnnLibrary& library) {
  // Those that tell no workspace are known to be refused.
  WOOTZ_RETURN_IF_ERROR(config.get_number(Attribute::kConfigWorkspace).status());
  CudnnDescriptor plan(library, Kind::kPlan);
  plan.set(Attribute::kPlanConfig, config);
  return finished(std::move(plan), "building a plan");
}

Result<std::vector<char>> save_plan(const CudnnBuilt& built) {
  WOOTZ_ASSIGN_OR_RETURN(const std::string text, built.plan.get_text(Attribute::kPlanJson));
  return std::vector<char>(text.begin(), text.end());
}

Result<CudnnBuilt> load_plan(const std::vector<char>& bytes, const CudnnLibrary& library) {
  CudnnDescriptor plan(library, Kind::kPlan);
  plan.set(Attribute::kPlanJson, ValueType::kChar, static_cast<int64_t>(bytes.size()), bytes.data())
      .set(Attribute::kPlanHandle, library.handle);
  return finished(std::move(plan), "loading a plan");
}

}  // namespace wootz::cuda
