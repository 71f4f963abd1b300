#include "build/refit/recorded_plugins.h"

#include <charconv>
#include <map>
#include <mutex>

#include "ir/parse_dim.h"

namespace wootz {
namespace {

using Operands = std::vector<TypeInfo>;
using ShapeOperands = std::vector<std::vector<Dim>>;

std::string text_of(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& d : dims) text += (text.empty() ? "" : ",") + d.to_string();
  return '[' + text + ']';
}

// "f32[s0,3] _ i64[4] {2,s4194304}": all that a plugin is given.
std::string question(const Operands& operands, const ShapeOperands& shape_operands) {
  std::string text;
  for (const TypeInfo& operand : operands)
    text += operand.present ? fmt::format("{}{} ", dtype_name(operand.dtype), text_of(operand.shape)) : "_ ";
  for (const std::vector<Dim>& values : shape_operands) text += '{' + text_of(values) + "} ";
  return text;
}

SortedJson dims_json(const std::vector<Dim>& dims) {
  SortedJson list = SortedJson::array();
  for (const Dim& d : dims) list.push_back(d.to_string());
  return list;
}

SortedJson answer_json(const std::string& asked, const CustomResults& results) {
  SortedJson types = SortedJson::array(), shapes = SortedJson::array(), sizes = SortedJson::array();
  for (const DType type : results.types) types.push_back(dtype_name(type));
  for (const Shape& shape : results.shapes) shapes.push_back(dims_json(shape));
  for (const CustomResults::Size& size : results.sizes)
    sizes.push_back({size.output, size.opt.to_string(), size.most.to_string()});
  return {{"asked", asked}, {"types", types}, {"shapes", shapes}, {"sizes", sizes}};
}

// The symbols that an answer to this question may use: others would point outside of the operands.
SymbolsByName symbols_of(const Operands& operands, const ShapeOperands& shape_operands, const SortedJson& sizes) {
  SymbolsByName symbols;
  const auto add = [&](const Dim& symbol) {
    if (SymbolId id = 0; symbol.is_symbol(&id)) symbols.emplace(symbol.to_string(), id);
  };
  for (const TypeInfo& operand : operands)
    for (const Dim& d : operand.shape) add(d);
  for (const std::vector<Dim>& values : shape_operands)
    for (const Dim& d : values) add(d);
  for (const SortedJson& size : sizes) {
    const int output = size.at(0).get<int>();
    if (output >= 0 && output < limits::kMaxInputsPerNode) add(CustomOp::size_symbol(output));
  }
  return symbols;
}

class DimReader {
 public:
  explicit DimReader(SymbolsByName symbols) : symbols_(std::move(symbols)) {}
  Result<Dim> read(const std::string& text) {
    Scanner in(text);
    WOOTZ_ASSIGN_OR_RETURN(Dim dim, parse_dim(in, symbols_, &work_));
    return in.at_end() ? Result<Dim>(std::move(dim)) : Result<Dim>(in.expected("the end"));
  }

 private:
  const SymbolsByName symbols_;
  uint64_t work_ = 0;
};

Result<CustomResults> answer_of(const SortedJson& json, const Operands& operands, const ShapeOperands& shape_operands) {
  DimReader dims(symbols_of(operands, shape_operands, json.at("sizes")));
  CustomResults results;
  for (const SortedJson& type : json.at("types")) results.types.push_back(dtype_from_name(type.get<std::string>()));
  for (const SortedJson& extents : json.at("shapes")) {
    if (extents.size() > size_t{limits::kMaxRank})
      return corrupt("refit: a plugin's result of {} axes", extents.size());
    Shape& shape = results.shapes.emplace_back();
    for (const SortedJson& extent : extents) {
      WOOTZ_ASSIGN_OR_RETURN(shape.emplace_back(), dims.read(extent.get<std::string>()));
    }
  }
  if (results.types.size() != results.shapes.size()) return corrupt("refit: a plugin's results without types");
  for (const SortedJson& size : json.at("sizes")) {
    CustomResults::Size& read = results.sizes.emplace_back();
    read.output = size.at(0).get<int>();
    WOOTZ_ASSIGN_OR_RETURN(read.opt, dims.read(size.at(1).get<std::string>()));
    WOOTZ_ASSIGN_OR_RETURN(read.most, dims.read(size.at(2).get<std::string>()));
    if (read.output < 0 || static_cast<size_t>(read.output) >= results.types.size())
      return corrupt("refit: a plugin's size {} of {} results", read.output, results.types.size());
  }
  return results;
}

class ReplayedOp final : public CustomOp {
 public:
  explicit ReplayedOp(const SortedJson& json) {
    const SortedJson& is = json.at("is");
    identity_ = {is.at(0).get<std::string>(), is.at(1).get<std::string>(), is.at(2).get<std::string>(),
                 is.at(3).get<std::string>()};
    aliases_ = json.at("aliases").get<std::vector<int>>();
    for (const SortedJson& answer : json.at("answers")) answers_.emplace(answer.at("asked").get<std::string>(), answer);
  }
  Identity identity() const override { return identity_; }
  int num_outputs() const override { return static_cast<int>(aliases_.size()); }
  int aliased_input(int output) const override {
    return static_cast<size_t>(output) < aliases_.size() ? aliases_[static_cast<size_t>(output)] : -1;
  }
  Result<CustomResults> results(const Operands& operands, const ShapeOperands& shape_operands) const override {
    const std::string asked = question(operands, shape_operands);
    const auto found = answers_.find(asked);
    if (found == answers_.end())
      return make_error(Code::kInvalidState, "plugin '{}' was not asked for its results of {}while the plan was built",
                        identity_.name, asked);
    try {
      return answer_of(found->second, operands, shape_operands);
    } catch (const SortedJson::exception& e) {
      return corrupt("refit: what a plugin answered cannot be read: {}", e.what());
    }
  }

 private:
  Identity identity_;
  std::vector<int> aliases_;  // by output
  std::map<std::string, SortedJson> answers_;
};

// An object of a plugin that no step runs: it is what the plan has.
class PlannedPlugin final : public PluginObject {
 public:
  explicit PlannedPlugin(std::string data) : data_(std::move(data)) {}
  Result<std::unique_ptr<PluginContext>> attach(const ContextServices*) override {
    return internal_error("a refit runs no plugin");
  }
  Result<size_t> workspace(const PluginTensors&) override { return size_t{0}; }
  Result<std::string> serialize() override { return data_; }

 private:
  std::string data_;
};

// The step as it is before the plugin's data are written into it.
std::string without_data(Problem problem, PluginParams params) {
  params.data.clear();
  write_plugin(params, &problem);
  return problem.key();
}

class PlannedPlugins final : public PluginSource {
 public:
  explicit PlannedPlugins(std::map<std::string, std::string> data) : data_(std::move(data)) {}
  Result<std::vector<PluginForm>> forms(const Problem&, const PluginParams&) const override {
    return internal_error("a refit chooses nothing");
  }
  Result<std::shared_ptr<PluginObject>> make(const Problem& problem, const PluginParams& params, int32_t,
                                             size_t) const override {
    const auto found = data_.find(without_data(problem, params));
    if (found == data_.end())
      return make_error(Code::kInvalidState, "{}: the plan has no such plugin", plugin_place(params));
    return std::shared_ptr<PluginObject>(std::make_shared<PlannedPlugin>(found->second));
  }

 private:
  const std::map<std::string, std::string> data_;  // by step: a layer has one for each profile that is tuned by itself
};

void collect(const Program& program, std::map<std::string, std::string>* data) {
  for (const Step& step : program.steps) {
    if (!is_plugin(step.problem)) continue;
    const Result<PluginParams> params = read_plugin(step.problem);
    if (!params.ok()) continue;
    Result<std::string> bytes = from_hex(params->data);
    if (bytes.ok()) (*data)[without_data(step.problem, *params)] = std::move(*bytes);
  }
  for (const Program& body : program.bodies) collect(body, data);
}

}  // namespace

class RecordedOp final : public CustomOp {
 public:
  explicit RecordedOp(std::shared_ptr<const CustomOp> of) : op(std::move(of)) {}
  Identity identity() const override { return op->identity(); }
  int num_outputs() const override { return op->num_outputs(); }
  int aliased_input(int output) const override { return op->aliased_input(output); }
  Result<CustomResults> results(const Operands& operands, const ShapeOperands& shape_operands) const override {
    Result<CustomResults> results = op->results(operands, shape_operands);
    if (results.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      answers_[question(operands, shape_operands)] = *results;
    }
    return results;
  }
  SortedJson to_json() const {
    const Identity is = identity();
    SortedJson aliases = SortedJson::array(), answers = SortedJson::array();
    for (int o = 0; o < num_outputs(); ++o) aliases.push_back(aliased_input(o));
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [asked, results] : answers_) answers.push_back(answer_json(asked, results));
    return {{"is", {is.name, is.version, is.space, is.timing}}, {"aliases", aliases}, {"answers", answers}};
  }

  const std::shared_ptr<const CustomOp> op;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, CustomResults> answers_;
};

namespace {

template <class Ops>
Result<std::shared_ptr<const CustomOp>> op_named(const Ops& ops, const std::string& name) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number >= ops.size())
    return corrupt("refit: there is no plugin '{}'", name.substr(0, 64));
  return std::shared_ptr<const CustomOp>(ops[number]);
}

}  // namespace

std::string PluginRecorder::name_of(const std::shared_ptr<const CustomOp>& op) {
  for (size_t i = 0; i < ops_.size(); ++i)
    if (ops_[i]->op == op) return std::to_string(i);
  ops_.push_back(std::make_shared<RecordedOp>(op));
  return std::to_string(ops_.size() - 1);
}

Result<std::shared_ptr<const CustomOp>> PluginRecorder::find(const std::string& name) const {
  return op_named(ops_, name);
}

SortedJson PluginRecorder::to_json() const {
  SortedJson json = SortedJson::array();
  for (const auto& op : ops_) json.push_back(op->to_json());
  return json;
}

ReplayedOps replayed_ops(const SortedJson& json) {
  ReplayedOps ops;
  for (const SortedJson& op : json) ops.push_back(std::make_shared<ReplayedOp>(op));
  return ops;
}

Result<std::shared_ptr<const CustomOp>> find_replayed(const ReplayedOps& ops, const std::string& name) {
  return op_named(ops, name);
}

std::shared_ptr<const PluginSource> plugins_of_plan(const Program& program) {
  std::map<std::string, std::string> data;
  collect(program, &data);
  return data.empty() ? nullptr : std::make_shared<PlannedPlugins>(std::move(data));
}

}  // namespace wootz
