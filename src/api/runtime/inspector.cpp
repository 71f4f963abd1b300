#include "api/runtime/inspector.h"

#include "api/runtime/context.h"
#include "api/runtime/made_here.h"
#include "base/json.h"
#include "plan/describe.h"
#include "runtime/report/kept_report.h"
#include "runtime/report/memory_json.h"

namespace wootz::api {
namespace {

using Json = OrderedJson;
using nvinfer1::LayerInformationFormat;
using nvinfer1::ProfilingVerbosity;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

// Adds to a step's description the tactics that were considered for it, and what the application wrote on its layers.
// The plan keeps both with the whole program.
class Additions {
 public:
  Additions(const Program& whole, const Program& program)
      : program_(program),
        report_(&whole == &program ? kept_json(whole, property::kReport) : Json()),
        choices_(report_),
        metadata_(kept_json(whole, property::kMetadata)) {}
  Additions(const Additions&) = delete;
  Additions& operator=(const Additions&) = delete;
  Json add_to(Json json, StepIndex step) const {
    if (!json.is_object()) return json;
    const Step& s = program_.steps[step];
    if (Json tactics = choices_.of(s.name); tactics.is_object()) json["Tactics"] = std::move(tactics);
    std::string texts;
    for (const std::string& layer : s.provenance) {
      const auto found = metadata_.find(layer);
      if (!metadata_.is_object() || found == metadata_.end() || !found->is_string()) continue;
      texts += (texts.empty() ? "" : "\x1e") + found->get<std::string>();
    }
    if (!texts.empty()) json["Metadata"] = std::move(texts);
    return json;
  }

 private:
  const Program& program_;
  Json report_;
  KeptChoices choices_;
  Json metadata_;
};

DescribeOptions options_of(const ContextImpl* context, ProfilingVerbosity verbosity) {
  DescribeOptions options;
  options.names_only = verbosity != ProfilingVerbosity::kDETAILED;
  const ShapePlan* plan = context == nullptr ? nullptr : context->shape_plan();
  if (plan != nullptr) options.shapes = &plan->shapes;
  return options;
}

}  // namespace

ProfilingVerbosity InspectorImpl::verbosity() const {
  return static_cast<ProfilingVerbosity>(info_->property_int(property::kVerbosity, 0));
}

const Program& InspectorImpl::program() const { return (context_ == nullptr ? *info_ : context_->info()).program(); }

// For the shapes of the context, or else at the maximum of every profile.
std::vector<MemoryReport> InspectorImpl::memory() const {
  std::vector<MemoryReport> reports;
  const auto add = [&](Result<MemoryReport> report) {
    if (report.ok()) reports.push_back(std::move(report).value());
  };
  if (const ShapePlan* plan = context_ == nullptr ? nullptr : context_->shape_plan()) {
    add(context_->info().core().memory_report(plan->symbols));
    return reports;
  }
  for (size_t p = 0; p < info_->num_profiles(); ++p) add(info_->memory_report(p));
  return reports;
}

bool InspectorImpl::setExecutionContext(const nvinfer1::IExecutionContext* context) noexcept {
  return attempt(reporter_, "IEngineInspector::setExecutionContext", [&]() -> Status {
    const auto* ours = made_here<ContextImpl>(context);
    if (context != nullptr && (ours == nullptr || &ours->whole() != info_.get()))
      return invalid_argument("the context belongs to another engine");
    context_ = ours;
    return Status();
  });
}

const nvinfer1::IExecutionContext* InspectorImpl::getExecutionContext() const noexcept { return context_; }

const char* InspectorImpl::getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept {
  const bool ok = attempt(reporter_, "IEngineInspector::getLayerInformation", [&]() -> Status {
    const Program& program = this->program();
    const StepIndex step(layerIndex);
    if (!program.steps.has(step))
      return invalid_argument("there is no layer {}; the engine has {}", layerIndex, program.steps.size());
    const DescribeOptions options = options_of(context_, verbosity());
    const bool json = format == LayerInformationFormat::kJSON;
    if (verbosity() == ProfilingVerbosity::kNONE)
      text_ = json ? "{}" : "";
    else if (json)
      text_ = dump(Additions(info_->program(), program).add_to(describe_step(program, step, options), step));
    else
      text_ = describe_step_line(program, step, options);
    return Status();
  });
  return ok ? text_.c_str() : "no such layer";
}

const char* InspectorImpl::getEngineInformation(LayerInformationFormat format) const noexcept {
  const bool ok = attempt(reporter_, "IEngineInspector::getEngineInformation", [&]() -> Status {
    const Program& program = this->program();
    const DescribeOptions options = options_of(context_, verbosity());
    const bool silent = verbosity() == ProfilingVerbosity::kNONE;
    if (format == LayerInformationFormat::kJSON) {
      Json json = describe_program(program, options);
      const Additions additions(info_->program(), program);
      if (silent) json["Layers"] = Json::array();
      if (silent) json.erase("Profiles");
      StepIndex step(0);
      for (Json& layer : json["Layers"]) {
        layer = additions.add_to(std::move(layer), step);
        ++step;
      }
      json["Memory"] = Json::array();
      for (const MemoryReport& report : memory())
        json["Memory"].push_back(memory_json(report, verbosity() == ProfilingVerbosity::kDETAILED));
      text_ = dump(json);
      return Status();
    }
    text_ = "Layers:\n";
    if (!silent)
      for (const StepIndex s : program.steps.indices()) text_ += describe_step_line(program, s, options) + "\n";
    for (size_t p = 0; p < program.profiles.size() && !silent; ++p) {
      const Program& own = *program_of(program, p).program;
      if (&own == &program) continue;
      text_ += fmt::format("\nLayers of profile {}:\n", p);
      for (const StepIndex s : own.steps.indices())
        text_ += describe_step_line(own, s, {nullptr, options.names_only}) + "\n";
    }
    text_ += "\nBindings:\n";
    for (const IoInfo& io : info_->ios()) text_ += std::string(io.name) + "\n";
    text_ += "\nMemory:\n";
    for (const MemoryReport& report : memory()) text_ += memory_line(report) + "\n";
    return Status();
  });
  return ok ? text_.c_str() : "";
}

}  // namespace wootz::api
