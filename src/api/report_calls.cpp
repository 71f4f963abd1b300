// The C entry points of reports.
#include "wootz/extensions.h"

#include "api/builder.h"
#include "api/runtime/engine.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/made_here.h"
#include "report/compare.h"
#include "report/page.h"
#include "runtime/report/kept_report.h"
#include "runtime/report/value_map.h"

namespace wootz::api {
namespace {

nvinfer1::IHostMemory* to_memory(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
  return new HostMemory(std::span(bytes, text.size() + 1));
}

Result<std::string> written(const Json& report, std::string_view format) {
  if (format == "json") return dump_report(report);
  if (format == "html") return report_page(report);
  if (format == "svg") return graph_svg(Json::parse(dump_report(report)), true);
  if (format == "text") return report_text(report);
  return invalid_argument("there is no report format '{}'; there are json, html, svg and text", format);
}

Json engine_report(const EngineInfo& info) {
  const Program& program = info.program();
  std::vector<MemoryReport> memory;
  for (size_t p = 0; p < program.profiles.size(); ++p)
    if (Result<MemoryReport> report = info.memory_report(p); report.ok()) memory.push_back(std::move(report).value());
  return program_report(program, kept_json(program, property::kReport), memory);
}

Json values_report(const Program& program) {
  Json list = Json::array();
  for (const ValueMap::Entry& value : ValueMap(program).entries()) {
    Json entry = {{"name", value.name}};
    if (value.tensor.exists())
      entry["state"] = "tensor";
    else if (!value.steps.empty())
      entry["state"] = "inside";
    else if (value.why.starts_with(value_code::kRemoved))
      entry["state"] = "removed";
    else
      entry["state"] = value.why == value_code::kConstant ? "constant" : "shape";
    Json& steps = entry["steps"] = Json::array();
    for (const StepIndex s : value.steps) steps.push_back(program.steps[s].name);
    list.push_back(std::move(entry));
  }
  return list;
}

// The object's own: the process's logger may be gone.
template <typename T>
Reporter reporter_of(const T* ours) {
  return ours != nullptr ? Reporter(ours->reporter()) : Reporter(process_logger());
}

using Made = Result<nvinfer1::IHostMemory*>;

}  // namespace
}  // namespace wootz::api

using namespace wootz;       // NOLINT: what follows are the doors of
using namespace wootz::api;  // NOLINT: these namespaces

extern "C" {

const char* wootz_build_report(void* builder) noexcept {
  auto* ours = made_here<BuilderImpl>(static_cast<nvinfer1::IBuilder*>(builder));
  const char* text = "";
  if (ours != nullptr)
    attempt(Reporter(process_logger()), "wootz_build_report",
            [&] { return text = ours->report().c_str(), wootz::Status(); });
  return text;
}

void* wootz_build_report_as(void* builder, const char* format) noexcept {
  auto* ours = made_here<BuilderImpl>(static_cast<nvinfer1::IBuilder*>(builder));
  return attempt_or<nvinfer1::IHostMemory*>(reporter_of(ours), "wootz_build_report_as", nullptr, [&]() -> Made {
    if (ours == nullptr || format == nullptr) return wootz::invalid_argument("builder or format is null");
    const Json report = ours->report_json();
    if (report.is_null()) return wootz::invalid_argument("nothing was built yet");
    WOOTZ_ASSIGN_OR_RETURN(const std::string text, written(report, format));
    return to_memory(text);
  });
}

void* wootz_engine_report(void* engine, const char* format) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_engine_report, engine, format);
  auto* ours = made_here<EngineImpl>(static_cast<nvinfer1::ICudaEngine*>(engine));
  return attempt_or<nvinfer1::IHostMemory*>(reporter_of(ours), "wootz_engine_report", nullptr, [&]() -> Made {
    if (ours == nullptr || format == nullptr) return wootz::invalid_argument("engine or format is null");
    if (std::string_view(format) == "values") return to_memory(dump_report(values_report(ours->info()->program())));
    WOOTZ_ASSIGN_OR_RETURN(const std::string text, written(engine_report(*ours->info()), format));
    return to_memory(text);
  });
}

void* wootz_compare_reports(const char* a, const char* b, const char* format) noexcept {
  return attempt_or<nvinfer1::IHostMemory*>(
      Reporter(wootz::api::AppLogger{}), "wootz_compare_reports", nullptr, [&]() -> Made {
        if (a == nullptr || b == nullptr || format == nullptr)
          return wootz::invalid_argument("a report or the format is null");
        const std::string_view form(format);
        if (form != "json" && form != "text")
          return wootz::invalid_argument("comparisons are written as json or text, not '{}'", form);
        Json reports[2];
        for (int i = 0; i < 2; ++i) {
          reports[i] = Json::parse(i == 0 ? a : b, nullptr, /*allow_exceptions=*/false);
          if (!reports[i].is_object() || !reports[i].contains("layers"))
            return wootz::invalid_argument("report {} is none: JSON with \"layers\" is wanted", i == 0 ? "a" : "b");
        }
        const Json comparison = compare_reports(reports[0], reports[1]);
        return to_memory(form == "json" ? dump_report(comparison) : comparison_text(comparison, "A", "B"));
      });
}

}  // extern "C"
