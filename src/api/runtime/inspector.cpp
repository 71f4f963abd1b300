#include "api/runtime/inspector.h"

#include <nlohmann/json.hpp>

#include "api/runtime/context.h"

namespace wootz::api {
namespace {

using Json = nlohmann::ordered_json;
using nvinfer1::LayerInformationFormat;
using nvinfer1::ProfilingVerbosity;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json extents(const nvinfer1::Dims& dims) {
  Json list = Json::array();
  for (int32_t i = 0; i < dims.nbDims; ++i) list.push_back(dims.d[i]);
  return list;
}

// Describes tensors at the context's shapes, or with open extents.
class Describer {
 public:
  Describer(const EngineInfo& info, const ContextImpl* context) : info_(info), program_(info.program()) {
    if (context != nullptr) plan_ = context->front().shape_plan();
    const auto found = program_.properties.find(property::kReport);
    if (found != program_.properties.end()) report_ = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  }

  Json tensor(int32_t t) const {
    if (t < 0) return nullptr;
    const PlanTensor& tensor = program_.tensors[static_cast<size_t>(t)];
    const nvinfer1::Dims dims = plan_ == nullptr ? info_.open_shape(t) : dims_with_holes(tensor, plan_->shapes);
    Json json = {{"Name", tensor.name}, {"Dimensions", extents(dims)}};
    json["Format/Datatype"] = std::string(layout_name(tensor.layout)) + " " + dtype_name(tensor.dtype);
    if (tensor.kind == TensorKind::kConstant && tensor.constant >= 0)
      json["Weights"] = {{"Type", dtype_name(tensor.dtype)},
                         {"Bytes", program_.constants[static_cast<size_t>(tensor.constant)].bytes}};
    return json;
  }

  Json step(size_t s) const {
    const Step& step = program_.steps[s];
    Json json = {{"Name", step.name}, {"LayerType", family_name(step.problem.family)}};
    Json& inputs = json["Inputs"] = Json::array();
    for (const int32_t t : step.inputs) inputs.push_back(tensor(t));
    Json& outputs = json["Outputs"] = Json::array();
    for (const int32_t t : step.outputs) outputs.push_back(tensor(t));
    Json& params = json["Parameters"] = Json::object();
    for (const auto& [name, value] : step.problem.params)
      std::visit([&, &key = name](const auto& v) { params[key] = v; }, value);
    if (!step.problem.epilogue.outputs.empty()) json["Epilogue"] = step.problem.epilogue.to_string();
    json["TacticName"] = step.tactic.to_string();
    if (step.measured_us >= 0) json["TacticTimeUs"] = step.measured_us;
    json["WorkspaceBytes"] = step.workspace;
    json["Origin"] = step.provenance;
    if (report_.is_object() && report_.contains(step.name)) json["Tactics"] = report_[step.name];
    return json;
  }

  std::string line(size_t s) const {
    const Step& step = program_.steps[s];
    std::string text = step.name + " [" + family_name(step.problem.family) + "]";
    const auto add = [&](const char* what, const std::vector<int32_t>& tensors) {
      text += what;
      for (size_t i = 0; i < tensors.size(); ++i) {
        const Json json = tensor(tensors[i]);
        text += i == 0 ? "" : ", ";
        if (json.is_null()) {
          text += "-";
          continue;
        }
        text += json["Name"].get<std::string>() + " " + json["Dimensions"].dump() + " " +
                json["Format/Datatype"].get<std::string>();
      }
    };
    add(" inputs: ", step.inputs);
    add(" outputs: ", step.outputs);
    text += " tactic: " + step.tactic.to_string();
    if (step.measured_us >= 0) text += fmt::format(" time: {:.2f} us", step.measured_us);
    return text;
  }

 private:
  const EngineInfo& info_;
  const Program& program_;
  const ShapePlan* plan_ = nullptr;
  Json report_;
};

}  // namespace

ProfilingVerbosity InspectorImpl::verbosity() const {
  return static_cast<ProfilingVerbosity>(info_->property_int(property::kVerbosity, 0));
}

bool InspectorImpl::setExecutionContext(const nvinfer1::IExecutionContext* context) noexcept {
  return attempt(reporter_, "IEngineInspector::setExecutionContext", [&]() -> Status {
    const auto* ours = dynamic_cast<const ContextImpl*>(context);
    if (context != nullptr && (ours == nullptr || &ours->info() != info_.get()))
      return invalid_argument("the context belongs to another engine");
    context_ = ours;
    return Status();
  });
}

const nvinfer1::IExecutionContext* InspectorImpl::getExecutionContext() const noexcept { return context_; }

const char* InspectorImpl::getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept {
  const bool ok = attempt(reporter_, "IEngineInspector::getLayerInformation", [&]() -> Status {
    const std::vector<Step>& steps = info_->program().steps;
    if (layerIndex < 0 || static_cast<size_t>(layerIndex) >= steps.size())
      return invalid_argument("there is no layer {}; the engine has {}", layerIndex, steps.size());
    const auto s = static_cast<size_t>(layerIndex);
    const bool json = format == LayerInformationFormat::kJSON;
    if (verbosity() == ProfilingVerbosity::kNONE) {
      text_ = json ? "{}" : "";
    } else if (verbosity() == ProfilingVerbosity::kLAYER_NAMES_ONLY) {
      text_ = json ? Json(steps[s].name).dump(-1, ' ', false, Json::error_handler_t::replace) : steps[s].name;
    } else {
      const Describer describer(*info_, context_);
      text_ = json ? dump(describer.step(s)) : describer.line(s);
    }
    return Status();
  });
  return ok ? text_.c_str() : "no such layer";
}

const char* InspectorImpl::getEngineInformation(LayerInformationFormat format) const noexcept {
  const bool ok = attempt(reporter_, "IEngineInspector::getEngineInformation", [&]() -> Status {
    const Program& program = info_->program();
    const bool json = format == LayerInformationFormat::kJSON;
    const Describer describer(*info_, context_);
    Json layers = Json::array(), bindings = Json::array();
    std::string lines;
    for (size_t s = 0; s < program.steps.size() && verbosity() != ProfilingVerbosity::kNONE; ++s) {
      if (verbosity() == ProfilingVerbosity::kDETAILED) {
        json ? layers.push_back(describer.step(s)) : void(lines += describer.line(s) + "\n");
      } else {
        json ? layers.push_back(program.steps[s].name) : void(lines += program.steps[s].name + "\n");
      }
    }
    for (const IoInfo& io : info_->ios()) bindings.push_back(io.name);
    if (json) {
      text_ = dump(Json{{"Layers", layers}, {"Bindings", bindings}});
    } else {
      text_ = "Layers:\n" + lines + "\nBindings:\n";
      for (const IoInfo& io : info_->ios()) text_ += std::string(io.name) + "\n";
    }
    return Status();
  });
  return ok ? text_.c_str() : "";
}

}  // namespace wootz::api
