#include "api/tools/compare_engines.h"

#include <algorithm>
#include <cmath>

#include "api/runtime/host_memory.h"
#include "api/runtime/made_here.h"
#include "wootz/extensions.h"

namespace wootz::api {
namespace {

class Comparing {
 public:
  Comparing(EngineRun& a, EngineRun& b) : a_(a), b_(b) {}

  Result<Comparison> run(const std::vector<Batch>& batches, double tolerance) {
    if (batches.empty()) return invalid_argument("there is no batch to compare with");
    result_.tolerance = tolerance;
    WOOTZ_RETURN_IF_ERROR(choose_values());
    for (const Batch& batch : batches) {
      WOOTZ_RETURN_IF_ERROR(run_one(batch).with_prefix(fmt::format("batch {}", result_.batches)));
      ++result_.batches;
    }
    return std::move(result_);
  }

 private:
  Status choose_values() {
    std::set<std::string> both;
    const std::set<std::string>&of_a = a_.values(), &of_b = b_.values();
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::inserter(both, both.end()));
    std::set_difference(of_a.begin(), of_a.end(), both.begin(), both.end(), std::back_inserter(result_.only[0]));
    std::set_difference(of_b.begin(), of_b.end(), both.begin(), both.end(), std::back_inserter(result_.only[1]));
    const bool any = std::any_of(both.begin(), both.end(), [&](const std::string& name) { return a_.is_output(name); });
    if (!any) return invalid_argument("the two have no output in common: they are of different models");
    WOOTZ_RETURN_IF_ERROR(a_.show(both).with_prefix("A"));
    return b_.show(both).with_prefix("B");
  }

  Status run_one(const Batch& batch) {
    of_a_.clear();
    const TakeValue keep = [&](const std::string& name, HostTensor value) {
      of_a_[name] = std::move(value);
      entry(name);
      return Status();
    };
    WOOTZ_RETURN_IF_ERROR(a_.run(batch, keep).with_prefix("A"));
    const TakeValue compare = [&](const std::string& name, HostTensor value) {
      const auto found = of_a_.find(name);
      if (found == of_a_.end()) return Status();
      ComparedValue& here = entry(name);
      here.types[0] = found->second.dtype();
      here.types[1] = value.dtype();
      here.dims = found->second.dims();
      if (const Status status = here.errors.add(found->second, value); !status.ok())
        here.not_comparable = status.message();
      of_a_.erase(found);  // its memory is free again
      return Status();
    };
    return b_.run(batch, compare).with_prefix("B");
  }

  ComparedValue& entry(const std::string& name) {
    const auto [found, fresh] = places_.emplace(name, result_.values.size());
    if (!fresh) return result_.values[found->second];
    ComparedValue& made = result_.values.emplace_back();
    made.name = name;
    made.output = a_.is_output(name);
    made.layers[0] = a_.layer_of(name);
    made.layers[1] = b_.layer_of(name);
    return made;
  }

  EngineRun &a_, &b_;
  Comparison result_;
  std::map<std::string, size_t> places_;
  std::map<std::string, HostTensor> of_a_;
};

struct Options {
  double tolerance = 1e-3;
  std::string names[2] = {"A", "B"};
};

Result<Options> read_options(const char* text) {
  Options options;
  if (text == nullptr || *text == '\0') return options;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("the options are no JSON object");
  for (const auto& [key, value] : json.items()) {
    if (key == "tolerance" && value.is_number()) {
      options.tolerance = value.get<double>();
      if (!(options.tolerance >= 0)) return invalid_argument("tolerance {} is below 0", options.tolerance);
    } else if (key == "names" && value.is_array() && value.size() == 2 && value[0].is_string() &&
               value[1].is_string()) {
      for (size_t i = 0; i < 2; ++i) options.names[i] = value[i].get<std::string>();
    } else {
      return invalid_argument("option '{}' is unknown, or its value is none: there are tolerance and names", key);
    }
  }
  return options;
}

Result<Json> compare(void* a, void* b, const void* batches, const char* text) {
  if (batches == nullptr) return invalid_argument("the batches are null");
  WOOTZ_ASSIGN_OR_RETURN(const Options options, read_options(text));
  std::unique_ptr<EngineRun> runs[2];
  void* const engines[2] = {a, b};
  for (size_t i = 0; i < 2; ++i) {
    Result<std::unique_ptr<EngineRun>> run = EngineRun::create(static_cast<nvinfer1::ICudaEngine*>(engines[i]));
    if (!run.ok()) return run.status().with_prefix(options.names[i]);
    runs[i] = std::move(run).value();
  }
  const std::vector<Batch>& all = static_cast<const Batches*>(batches)->all;
  WOOTZ_ASSIGN_OR_RETURN(const Comparison comparison, compare_engines(*runs[0], *runs[1], all, options.tolerance));
  Json json = comparison_json(comparison);
  json["names"] = {options.names[0], options.names[1]};
  return json;
}

nvinfer1::IHostMemory* to_memory(const std::string& text) {
  return new HostMemory(std::span(reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1));
}

using Made = Result<nvinfer1::IHostMemory*>;

}  // namespace

Result<Comparison> compare_engines(EngineRun& a, EngineRun& b, const std::vector<Batch>& batches, double tolerance) {
  return Comparing(a, b).run(batches, tolerance);
}

}  // namespace wootz::api

using namespace wootz;       // NOLINT: what follows are the doors of
using namespace wootz::api;  // NOLINT: these namespaces

extern "C" {

void* wootz_compare_engines(void* a, void* b, const void* batches, const char* options) noexcept {
  const auto* ours = made_here<EngineImpl>(static_cast<nvinfer1::ICudaEngine*>(a));
  const Reporter reporter = ours == nullptr ? Reporter(process_logger()) : Reporter(ours->reporter());
  return attempt_or<nvinfer1::IHostMemory*>(reporter, "wootz_compare_engines", nullptr, [&]() -> Made {
    WOOTZ_ASSIGN_OR_RETURN(const Json json, compare(a, b, batches, options));
    return to_memory(dump_report(json));
  });
}

void* wootz_comparison_as(const char* comparison, const char* format) noexcept {
  return attempt_or<nvinfer1::IHostMemory*>(Reporter(process_logger()), "wootz_comparison_as", nullptr, [&]() -> Made {
    if (comparison == nullptr || format == nullptr)
      return wootz::invalid_argument("the comparison or the format is null");
    const Json json = Json::parse(comparison, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("values") || !json.contains("first_divergence"))
      return wootz::invalid_argument("that is no comparison: JSON of wootz_compare_engines() is wanted");
    const std::string_view form(format);
    if (form == "text") return to_memory(compared_values_text(json));
    if (form == "html") return to_memory(compared_values_page(json));
    return wootz::invalid_argument("comparisons are written as text or html, not '{}'", form);
  });
}

}  // extern "C"
