// Writes the text form; ir/text.h describes it.
#include <unordered_map>
#include <unordered_set>

#include "ir/custom_op.h"
#include "ir/op_def.h"
#include "ir/scanner.h"
#include "ir/tensor_text.h"
#include "ir/text.h"

namespace wootz {
namespace {

constexpr const char* kSymbolKinds[] = {"input_dim", "input_value", "data_dependent"};

// How the symbols of one graph (and of those that share them) are written.
struct SymbolNames {
  const void* owner = nullptr;  // the list of symbols
  std::vector<std::string> names;
};

class Printer {
 public:
  Printer(const PrintOptions& options, bool anonymous) : options_(options), anonymous_(anonymous) {}

  void graph(const Graph& g, int indent) {
    const bool shares = symbols_ != nullptr && symbols_->owner == &g.symbols();
    const SymbolNames* outer = symbols_;
    SymbolNames own;
    out_ += "graph";
    if (!anonymous_) out_ += ' ' + Scanner::quote(g.name());
    if (outer != nullptr && !shares) out_ += " own_symbols";
    out_ += " {\n";
    Names names;
    name_values(g, &names);
    if (!shares) {
      own.owner = &g.symbols();
      symbols_ = &own;
      if (anonymous_)
        number_symbols(g, &own, indent + 2);
      else
        declare_symbols(g, names, &own, indent + 2);
    }
    body(g, names, indent + 2);
    out_.append(static_cast<size_t>(indent), ' ');
    out_ += '}';
    symbols_ = outer;
  }
  std::string take() { return std::move(out_); }

 private:
  using Names = std::unordered_map<const Value*, std::string>;

  void name_values(const Graph& g, Names* names) const {
    std::unordered_map<std::string, int> seen;
    const auto add = [&](const Value* value) {
      if (anonymous_) {
        names->emplace(value, fmt::format("%v{}", names->size()));
        return;
      }
      const std::string& name = value->name();
      std::string token = '%' + (Scanner::is_plain_name(name) ? name : Scanner::quote(name));
      if (const int n = ++seen[name]; n > 1) token += fmt::format("#{}", n);
      names->emplace(value, std::move(token));
    };
    for (const Value* value : g.inputs()) add(value);
    // Constants in the order in which body() writes them, so that numbers in names do not depend on ids.
    std::unordered_set<const Value*> done;
    const auto add_constant = [&](const Value* value) {
      if (value != nullptr && value->is_constant() && done.insert(value).second) add(value);
    };
    for (const Node* node = g.first(); node != nullptr; node = node->next()) {
      for (const Value* value : node->inputs()) add_constant(value);
      for (const Value* value : node->outputs()) add(value);
    }
    for (const Value* value : g.constants()) add_constant(value);
  }

  static std::string name_of(const Names& names, const Value* value) {
    if (value == nullptr) return "_";
    const auto found = names.find(value);
    return found == names.end() ? "%\"no value of this graph\"" : found->second;
  }

  void line(int indent) { out_.append(static_cast<size_t>(indent), ' '); }

  void declare_symbols(const Graph& g, const Names& names, SymbolNames* own, int indent) {
    std::unordered_set<std::string> taken;
    for (size_t i = 0; i < g.symbols().size(); ++i) {
      const Symbol& symbol = g.symbols()[i];
      std::string word = symbol.name;
      if (!Scanner::is_word(word) || !taken.insert(word).second) {
        word = fmt::format("s{}", i);
        while (!taken.insert(word).second) word += '_';
      }
      own->names.push_back(word);
      line(indent);
      out_ += "sym " + word;
      if (word != symbol.name) out_ += ' ' + Scanner::quote(symbol.name);
      const auto kind = static_cast<size_t>(symbol.kind);
      out_ += fmt::format(" = {} {} {}", kSymbolKinds[kind < 3 ? kind : 0],
                          name_of(names, g.value_by_id(symbol.value_id)), symbol.index);
      if (symbol.upper_bound != -1) out_ += fmt::format(" <= {}", symbol.upper_bound);
      out_ += ";\n";
    }
  }

  // Only the symbols in use, by order of appearance.
  void number_symbols(const Graph& g, SymbolNames* own, int indent) {
    std::vector<SymbolId> used;
    collect_symbols(g, &g.symbols(), &used, 0);
    own->names.resize(g.symbols().size());
    for (size_t i = 0; i < used.size(); ++i) {
      const auto id = static_cast<size_t>(used[i]);
      if (id < own->names.size()) own->names[id] = fmt::format("s{}", i);
      line(indent);
      out_ += fmt::format("sym s{};\n", i);
    }
  }

  static void collect_symbols(const Graph& g, const void* owner, std::vector<SymbolId>* used, int depth) {
    if (&g.symbols() != owner || depth > limits::kMaxSubgraphDepth) return;
    const auto collect = [&](const Value* value) {
      for (const Dim& dim : value->shape()) dim.collect_symbols(used);
      if (value->shape_values())
        for (const Dim& dim : *value->shape_values()) dim.collect_symbols(used);
    };
    for (const Value* value : g.inputs()) collect(value);
    for (const Node* node = g.first(); node != nullptr; node = node->next()) {
      for (const Value* value : node->outputs()) collect(value);
      for (const auto& [name, attr] : node->attrs())
        if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr); inner != nullptr && *inner != nullptr)
          collect_symbols(**inner, owner, used, depth + 1);
    }
  }

  void dims(const std::vector<Dim>& list) {
    const auto name = [&](SymbolId id) {
      const auto index = static_cast<size_t>(id);
      return symbols_ != nullptr && index < symbols_->names.size() ? symbols_->names[index]
                                                                   : fmt::format("undeclared_{}", index);
    };
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ',';
      out_ += list[i].to_string(name);
    }
  }

  // ": f32[N,3] {values}", or nothing when no type is set.
  void type(const Value& value) {
    if (value.dtype() == DType::kInvalid && value.rank() == 0 && !value.shape_values()) return;
    out_ += fmt::format(": {}[", dtype_name(value.dtype()));
    dims(value.shape());
    out_ += ']';
    if (!value.shape_values()) return;
    out_ += " {";
    dims(*value.shape_values());
    out_ += '}';
  }

  void tensor_data(const HostTensor& tensor) {
    if (tensor.bytes() <= options_.elide_bytes)
      out_ += print_tensor_data(tensor);
    else
      out_ += options_.store ? "elided " + Scanner::quote(options_.store(tensor)) : "elided";
  }

  void body(const Graph& g, const Names& names, int indent) {
    for (const Value* value : g.inputs()) {
      line(indent);
      out_ += name_of(names, value);
      type(*value);
      out_ += " = input;\n";
    }
    std::unordered_set<const Value*> done;
    const auto constant = [&](const Value* value) {
      if (value == nullptr || !value->is_constant() || !done.insert(value).second) return;
      line(indent);
      out_ += name_of(names, value);
      type(*value);
      out_ += " = const ";
      tensor_data(value->constant());
      out_ += ";\n";
    };
    for (const Node* n = g.first(); n != nullptr; n = n->next()) {
      for (const Value* value : n->inputs()) constant(value);
      line(indent);
      node(*n, names, indent);
      out_ += ";\n";
    }
    for (const Value* value : g.constants()) constant(value);
    line(indent);
    out_ += "return";
    for (size_t i = 0; i < g.outputs().size(); ++i) out_ += (i == 0 ? " " : ", ") + name_of(names, g.outputs()[i]);
    out_ += ";\n";
  }

  void node(const Node& n, const Names& names, int indent) {
    for (int i = 0; i < n.num_outputs(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += name_of(names, n.output(i));
      type(*n.output(i));
    }
    if (n.num_outputs() > 0) out_ += " = ";
    out_ += n.op().name;
    out_ += '(';
    for (int i = 0; i < n.num_inputs(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += name_of(names, n.input(i));
    }
    out_ += ')';
    if (!n.attrs().empty()) {
      const char* before = " {";
      for (const auto& [name, value] : n.attrs()) {
        out_ += before + (Scanner::is_word(name) ? name : Scanner::quote(name)) + " = ";
        attribute(value, indent);
        before = ", ";
      }
      out_ += '}';
    }
    if (anonymous_) return;
    out_ += ' ' + Scanner::quote(n.name());
    if (!options_.provenance || n.provenance().empty()) return;
    out_ += " from [";
    for (size_t i = 0; i < n.provenance().size(); ++i) out_ += (i == 0 ? "" : ", ") + Scanner::quote(n.provenance()[i]);
    out_ += ']';
  }

  void attribute(const Attr& attr, int indent) {
    if (const auto* i = std::get_if<int64_t>(&attr)) {
      out_ += std::to_string(*i);
    } else if (const auto* f = std::get_if<double>(&attr)) {
      out_ += print_float(*f);
    } else if (const auto* s = std::get_if<std::string>(&attr)) {
      out_ += Scanner::quote(*s);
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attr)) {
      out_ += '[';
      for (size_t k = 0; k < ints->size(); ++k) out_ += (k == 0 ? "" : ", ") + std::to_string((*ints)[k]);
      out_ += ']';
    } else if (const auto* floats = std::get_if<std::vector<double>>(&attr)) {
      out_ += floats->empty() ? "floats[" : "[";
      for (size_t k = 0; k < floats->size(); ++k) out_ += (k == 0 ? "" : ", ") + print_float((*floats)[k]);
      out_ += ']';
    } else if (const auto* tensor = std::get_if<HostTensor>(&attr)) {
      out_ += fmt::format("const {}[", dtype_name(tensor->dtype()));
      dims(to_shape(tensor->dims()));
      out_ += "] ";
      tensor_data(*tensor);
    } else if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr)) {
      if (*inner == nullptr)
        out_ += "graph null";
      else
        graph(**inner, indent);
    } else if (const auto* expr = std::get_if<PointwiseExpr>(&attr)) {
      out_ += "expr " + Scanner::quote(expr->to_string());
    } else if (const auto* custom = std::get_if<std::shared_ptr<const CustomOp>>(&attr);
               custom != nullptr && *custom != nullptr && options_.custom) {
      out_ += "custom " + Scanner::quote(options_.custom(*custom));
    } else if (custom != nullptr) {
      const CustomOp::Identity id = *custom == nullptr ? CustomOp::Identity() : (*custom)->identity();
      out_ +=
          fmt::format("custom {} {} {}", Scanner::quote(id.name), Scanner::quote(id.version), Scanner::quote(id.space));
    }
  }

  const PrintOptions options_;
  const bool anonymous_;  // no names of the model: what equal nodes have in common
  const SymbolNames* symbols_ = nullptr;
  std::string out_;
};

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  Printer printer(options, false);
  printer.graph(graph, 0);
  return printer.take() + '\n';
}

Result<std::string> print_node(const Node& node) {
  Graph alone;
  if (node.graph() != nullptr) alone.share_symbols(*node.graph());
  std::unordered_map<const Value*, Value*> copies;
  std::vector<Value*> inputs;
  for (const Value* value : node.inputs()) {
    if (value == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    Value*& copy = copies[value];
    if (copy == nullptr) {
      copy = alone.add_input("", value->dtype(), value->shape());
      copy->set_shape_values(value->shape_values());
    }
    inputs.push_back(copy);
  }
  Node* copy = alone.add_node(node.op(), "node", std::move(inputs), node.attrs(), node.num_outputs());
  for (int i = 0; i < node.num_outputs(); ++i) {
    Value* value = copy->output(i);
    value->set_type(node.output(i)->dtype(), node.output(i)->shape());
    value->set_shape_values(node.output(i)->shape_values());
    if (value->dtype() != DType::kInvalid) alone.mark_output(value);
  }
  Printer printer(PrintOptions(), true);
  printer.graph(alone, 0);
  return printer.take() + '\n';
}

}  // namespace wootz
