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
  // Those that a layer may have; the first is that of `rules`. Several: none is a float format, and `best` chooses.
  std::vector<NumberFormat> formats = {NumberFormat::kInt8};
  double budget = -1;               // the greatest error of the outputs; below 0: there is none
  bool sensitivity = false;         // the error by each layer alone
  bool dynamic = false;             // int8 is NumberFormat::kInt8Dynamic
  bool best = false;                // each layer in what it is fastest in, which may be float
  bool correct_biases = true;       // of layers in int8
  std::optional<bool> zero_points;  // none: of int8 where the device multiplies u8 as well as i8
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
  // The model as the rules have it, read back.
  Result<std::shared_ptr<Graph>> converted_graph(const std::set<std::string, std::less<>>& keep);
  Result<double> error_with(const std::set<std::string, std::less<>>& keep);
  // layer_search.cpp: which layers have which format, and which stay in float
  struct Choice {
    NumberFormat format;
    double us = 0;                      // where it was measured
    std::optional<double> sensitivity;  // error of the outputs by the layer alone in it
  };
  Status choose_formats();
  Status time_formats();
  Status measure_sensitivity();
  Status meet_budget();
  // What the layers have if those of the first `moves` of `order` go on to their next choice.
  std::vector<size_t> moved(const std::vector<size_t>& order, size_t moves) const;
  void settle(const std::vector<size_t>& at);  // writes it into the rules
  Result<bool> keeps_budget(const std::vector<size_t>& at);
  bool in_float(const std::vector<size_t>& at, size_t layer) const { return at[layer] == choices_[layer].size(); }
  Status compare_all();
  // bias_correction.cpp
  Status correct_biases();
  Status correct_if_better();
  std::optional<double> correction_of(const std::string& layer) const;  // root mean square of it
  void report_layers(const std::map<std::string, double>& errors);      // of values

  const std::vector<Batch>& batches_;
  QuantizeOptions options_;  // its rules are what the search finds
  const std::set<std::string, std::less<>> asked_to_keep_;
  BuildSettings settings_;
  BuildServices services_;
  const Reporter& reporter_;
  std::string path_;
  std::unique_ptr<EditableModel> model_, converted_;
  std::shared_ptr<Graph> graph_;  // in float
  std::vector<EditedLayer> layers_;
  std::vector<std::vector<Choice>> choices_;  // of each layer, the fastest first; after the last comes float
  std::vector<size_t> at_;                    // which of its choices each layer has
  std::vector<Batch> outputs_;                // in float, of each batch
  QuantizationReport report_;
};

}  // namespace wootz::api
