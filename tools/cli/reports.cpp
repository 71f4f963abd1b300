// wootz inspect and wootz diff.
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "commands.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using ordered_json = wootz::OrderedJson;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string layer_information(Session& session) {
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(session.engine().createEngineInspector());
  if (inspector == nullptr) throw Failure("the plan cannot be inspected");
  return inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON);
}

void print_values(const std::string& json, bool as_json) {
  if (as_json) {
    std::printf("%s\n", json.c_str());
    return;
  }
  for (const ordered_json& value : ordered_json::parse(json)) {
    const std::string state = value["state"];
    std::string text = state == "tensor"     ? "can be read"
                       : state == "constant" ? "known while building"
                       : state == "removed"  ? "not computed"
                       : state == "shape"    ? "worked out with the shapes, or needless"
                                             : "inside";
    for (const ordered_json& step : value["steps"]) text += " '" + step.get<std::string>() + "'";
    std::printf("%s: %s\n", value["name"].get<std::string>().c_str(), text.c_str());
  }
}

// The report on a plan, or on a model that is built for it.
std::string report_of(const std::string& path, BuildOptions& o, Logger& logger) {
  if (!is_onnx(path)) {
    ordered_json report = ordered_json::parse(Session(path, logger).report("json"));
    report["performance"]["engine_size_mb"] = static_cast<double>(read_file(path).size()) / 1048576;
    return report.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
  o.request.model = path;
  return build_plan(o.request, logger).report;
}

std::string header_line(const PlanHeader& header) {
  if (header.version.empty()) return "";
  return "Version-compatible: written by Wootz " + header.version + ", " +
         (header.runtime_bytes == 0 ? "without its runtime"
                                    : "with its runtime (" + std::to_string(header.runtime_bytes) + " bytes)") +
         "\n";
}

}  // namespace

void add_inspect(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("inspect", "What a plan holds");
  struct Options {
    std::string plan, graph, page;
    bool as_json = false, full = false, values = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("plan", o->plan, "Plan")->required();
  command->add_flag("--json", o->as_json, "TensorRT's layer information as JSON");
  command->add_flag("--full", o->full, "With --json: the whole report, as build --json gives it");
  command->add_option("--graph", o->graph,
                      "Write the graph with its fused regions: .svg, or .html for the whole report");
  command->add_flag("--values", o->values, "List the model's values and where they are");
  command->callback([o, &logger] {
    if (!o->graph.empty() && !ends_with(o->graph, ".svg") && !ends_with(o->graph, ".html"))
      throw Usage("--graph: '" + o->graph + "' ends in neither .svg nor .html");
    const PlanHeader header = plan_header(o->plan, logger);
    if (header.of_another() && (o->as_json || o->values || !o->graph.empty()))
      throw Failure(o->plan + ": Wootz " + header.version + " wrote it, and can look into it");
    if (header.of_another()) {
      std::printf("%s", header_line(header).c_str());
      return;
    }
    Session session(o->plan, logger);
    if (!o->graph.empty()) {
      const std::string text = session.report(ends_with(o->graph, ".svg") ? "svg" : "html");
      write_file(o->graph, text.data(), text.size());
      if (!o->as_json && !o->values) std::printf("%s\n", o->graph.c_str());
    }
    if (o->values)
      print_values(session.report("values"), o->as_json);
    else if (o->as_json)
      std::printf("%s\n", (o->full ? session.report("json") : layer_information(session)).c_str());
    else if (o->graph.empty())
      std::printf("%s%s", session.report("text").c_str(), header_line(header).c_str());
  });
}

void add_diff(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("diff", "What differs between two plans or models, in the model's terms");
  struct Options {
    BuildOptions build;
    std::string a, b;
    bool exit_code = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("A", o->a, "Plan or ONNX model")->required();
  command->add_option("B", o->b, "Plan or ONNX model")->required();
  command->add_flag("--exit-code", o->exit_code, "Exit status 3 when they differ");
  add_build_options(*command, o->build);
  command->callback([o, &logger] {
    finish(o->build, logger);
    const std::string a = report_of(o->a, o->build, logger), b = report_of(o->b, o->build, logger);
    const std::string json = take_text(wootz_compare_reports(a.c_str(), b.c_str(), "json"), "the comparison", logger);
    if (o->build.as_json) {
      std::printf("%s\n", json.c_str());
    } else {
      std::string text = take_text(wootz_compare_reports(a.c_str(), b.c_str(), "text"), "the comparison", logger);
      text.replace(0, std::string("A: A\nB: B\n").size(), "A: " + o->a + "\nB: " + o->b + "\n");
      std::printf("%s", text.c_str());
    }
    if (o->exit_code && !ordered_json::parse(json)["same"].get<bool>()) throw Differ();
  });
}

}  // namespace wootz_cli
