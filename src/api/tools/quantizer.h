// A model in another number format: its ranges from representative inputs, which layers take part, and what is lost.
#pragma once

#include "api/tools/engine_run.h"
#include "api/tools/tool_engine.h"
#include "onnx/edit/editable_model.h"
#include "quant/range.h"
#include "report/compared_values.h"
#include "report/quantized_layers.h"

namespace wootz::api {

struct QuantizeOptions {
  FormatRules rules;
  RangeRule ranges;
  double budget = -1;        // the greatest error of the outputs; below 0: there is none
  bool sensitivity = false;  // the error by each layer alone
  bool best = false;         // only layers that are faster so
};

class Quantizer {
 public:
  // `settings` say where networks run. Errors: what the model or the batches are not fit for.
  static Result<std::unique_ptr<Quantizer>> open(const std::string& path, const std::vector<Batch>& batches,
                                                 QuantizeOptions options, BuildSettings settings,
                                                 BuildServices services, const Reporter& reporter);
  // Decides, and measures what is lost. Then the model can be written.
  Status run();
  Status write(const std::string& path) const { return converted_->write(path); }
  const QuantizationReport& report() const { return report_; }

 private:
  Quantizer(const std::vector<Batch>& batches, QuantizeOptions options, BuildSettings settings, BuildServices services,
            const Reporter& reporter);
  Status calibrate();
  Status run_in_float();
  // The model with the layers of `keep` in float, in place of the one that there was.
  Result<ToolEngine> convert(const std::set<std::string, std::less<>>& keep, const BuildSettings& settings);
  // Of the outputs, against those in float.
  Result<std::vector<OutputError>> output_errors(EngineImpl& engine) const;
  Result<double> error_with(const std::set<std::string, std::less<>>& keep);
  // layer_search.cpp: which layers stay in float
  Status keep_slow_layers();
  Status measure_sensitivity();
  Status meet_budget();
  Status compare_all();
  void report_layers(const std::map<std::string, double>& errors);  // of values

  const std::vector<Batch>& batches_;
  QuantizeOptions options_;  // its `keep` grows with what the search finds
  const std::set<std::string, std::less<>> asked_to_keep_;
  BuildSettings settings_;
  BuildServices services_;
  const Reporter& reporter_;
  std::string path_;
  std::unique_ptr<EditableModel> model_, converted_;
  std::shared_ptr<Graph> graph_;  // in float
  std::vector<EditedLayer> layers_;
  std::vector<Batch> outputs_;  // in float, of each batch
  QuantizationReport report_;
};

}  // namespace wootz::api
