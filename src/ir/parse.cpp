// Reads the text form; ir/text.h describes it. Recursive descent, with every recursion counted.
// Why so long: one grammar, whose rules call each other.
#include <algorithm>
#include <unordered_map>

#include "ir/op_def.h"
#include "ir/parse_dim.h"
#include "ir/scanner.h"
#include "ir/tensor_text.h"
#include "ir/text.h"

namespace wootz {
namespace {

constexpr size_t kMaxProvenance = 4096;  // names on one node

// What the whole text may still cost, nested graphs included.
struct Budget {
  int64_t nodes = limits::kMaxNodes;
  size_t splat_bytes = limits::kMaxFoldedBytes;
  uint64_t dim_work = 0;  // of folding dimensions (ir/parse_dim.h)
};

// What all graphs of a text share.
struct Sources {
  OpLookup lookup;
  const ConstantLoader* constants;
  const CustomLoader* custom;
};

// The names that one graph and the graphs in it that share its symbols may use.
struct SymbolTable {
  SymbolsByName by_name;
  std::vector<Symbol> symbols;
};

struct Type {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::optional<std::vector<Dim>> values;
};

// One graph. Nested graphs get a parser of their own over the same scanner.
class GraphParser {
 public:
  GraphParser(Scanner& in, const Sources& sources, Budget& budget, const Graph* outer, SymbolTable* outer_symbols,
              int depth)
      : in_(in), sources_(sources), budget_(budget), outer_(outer), symbols_(outer_symbols), depth_(depth) {}

  // After the word `graph`.
  Result<std::unique_ptr<Graph>> run() {
    if (depth_ > limits::kMaxSubgraphDepth)
      return in_.fail(fmt::format("graphs nest deeper than {}", limits::kMaxSubgraphDepth));
    if (in_.is_quote()) {
      WOOTZ_ASSIGN_OR_RETURN(std::string name, in_.quoted());
      graph_->set_name(std::move(name));
    }
    const bool own = in_.accept("own_symbols") || outer_ == nullptr;
    if (own)
      symbols_ = &own_symbols_;
    else
      graph_->share_symbols(*outer_);
    if (!in_.accept('{')) return in_.expected("'{'");
    while (!in_.accept('}')) {
      if (returned_) return in_.expected("'}' after return");
      WOOTZ_RETURN_IF_ERROR(statement());
      if (!in_.accept(';')) return in_.expected("';'");
    }
    if (own) WOOTZ_RETURN_IF_ERROR(declare_symbols());
    return std::move(graph_);
  }

 private:
  // "%name" as written, and what it stands for.
  struct Token {
    std::string key;
    std::string name;
  };
  struct Definition {
    Token token;
    Type type;
  };
  struct PendingSymbol {
    size_t index;
    std::string key;
  };

  Result<HostTensor> tensor_data(DType dtype, const Dims& dims) {
    if (!*sources_.constants || in_.peek_word() != "elided")
      return parse_tensor_data(in_, dtype, dims, &budget_.splat_bytes);
    in_.accept("elided");
    WOOTZ_ASSIGN_OR_RETURN(const std::string name, in_.quoted());
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, (*sources_.constants)(name, dtype, dims));
    if (tensor.dtype() != dtype || !(tensor.dims() == dims))
      return in_.fail(fmt::format("constant '{}' is of another type or other extents", name));
    return tensor;
  }

  Status statement() {
    const std::string_view word = in_.peek_word();
    if (word == "sym") return symbol();
    if (word == "return") return outputs();
    std::vector<Definition> results;
    while (in_.peek() == '%') {
      Definition result;
      WOOTZ_ASSIGN_OR_RETURN(result.token, token());
      if (values_.count(result.token.key) != 0)
        return in_.fail(fmt::format("value '{}' is defined twice", result.token.name));
      if (in_.accept(':')) WOOTZ_RETURN_IF_ERROR(type(&result.type));
      results.push_back(std::move(result));
      if (!in_.accept(',')) break;
      if (in_.peek() != '%') return in_.expected("another result");
    }
    if (!results.empty() && !in_.accept('=')) return in_.expected("'='");
    if (in_.peek_word() == "input" || in_.peek_word() == "const") {
      if (results.size() != 1) return in_.expected("one result before '='; here");
      return in_.accept("input") ? input(std::move(results[0])) : constant(std::move(results[0]));
    }
    return node(std::move(results));
  }

  // Values

  Result<Token> token() {
    if (!in_.accept('%')) return in_.expected("a value");
    Token t;
    if (const std::string_view plain = in_.name_chars(); !plain.empty()) {
      t.name = plain;
    } else {
      WOOTZ_ASSIGN_OR_RETURN(t.name, in_.quoted());
    }
    if (t.name.size() > limits::kMaxNameBytes)
      return in_.fail(fmt::format("a name of more than {} bytes", limits::kMaxNameBytes));
    t.key = t.name;
    if (in_.accept('#')) {
      WOOTZ_ASSIGN_OR_RETURN(const uint64_t number, in_.unsigned_integer());
      t.key += '\0' + std::to_string(number);
    }
    return t;
  }

  Result<Value*> value() {
    WOOTZ_ASSIGN_OR_RETURN(const Token t, token());
    const auto found = values_.find(t.key);
    if (found == values_.end()) return in_.fail(fmt::format("value '{}' is not defined before it is used", t.name));
    return found->second;
  }

  void define(const Token& t, const Type& type, Value* value) {
    value->set_name(t.name);
    if (type.dtype != DType::kInvalid || !type.shape.empty()) value->set_type(type.dtype, type.shape);
    value->set_shape_values(type.values);
    values_[t.key] = value;
  }

  Status input(Definition result) {
    Value* value = graph_->add_input(result.token.name, result.type.dtype, result.type.shape);
    define(result.token, result.type, value);
    return {};
  }

  Status constant(Definition result) {
    if (!in_.accept("const")) return in_.expected("const");
    const std::optional<Dims> dims = to_dims(result.type.shape);
    if (!dims) return in_.fail(fmt::format("constant '{}' has a shape that is not constant", result.token.name));
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, tensor_data(result.type.dtype, *dims));
    define(result.token, result.type, graph_->add_constant(result.token.name, std::move(tensor)));
    return {};
  }

  Status outputs() {
    if (!in_.accept("return")) return in_.expected("return");
    returned_ = true;
    if (in_.peek() == ';') return {};
    do {
      WOOTZ_ASSIGN_OR_RETURN(Value * v, value());
      graph_->mark_output(v);
    } while (in_.accept(','));
    return {};
  }

  // Types

  Status type(Type* t) {
    const std::string_view name = in_.word();
    t->dtype = dtype_from_name(name);
    if (t->dtype == DType::kInvalid && name != "invalid") return in_.expected("an element type");
    if (!in_.accept('[')) return in_.expected("'['");
    WOOTZ_RETURN_IF_ERROR(dim_list(']', limits::kMaxRank, &t->shape));
    if (!in_.accept('{')) return {};
    t->values.emplace();
    return dim_list('}', limits::kMaxShapeValues, &*t->values);
  }

  Status dim_list(char close, int64_t most, std::vector<Dim>* list) {
    if (in_.accept(close)) return {};
    do {
      if (static_cast<int64_t>(list->size()) == most) return in_.fail(fmt::format("more than {} dimensions", most));
      WOOTZ_ASSIGN_OR_RETURN(Dim d, parse_dim(in_, symbols_->by_name, &budget_.dim_work));
      list->push_back(std::move(d));
    } while (in_.accept(','));
    return in_.accept(close) ? Status() : in_.expected(fmt::format("'{}'", close));
  }

  // Symbols

  Status symbol() {
    if (!in_.accept("sym")) return in_.expected("sym");
    if (symbols_ != &own_symbols_) return in_.fail("this graph has the symbols of the one around it");
    const std::string word(in_.word());
    if (word.empty()) return in_.expected("a symbol");
    const auto id = static_cast<SymbolId>(own_symbols_.symbols.size());
    if (!own_symbols_.by_name.emplace(word, id).second)
      return in_.fail(fmt::format("symbol '{}' is declared twice", word));
    Symbol s;
    s.name = word;
    if (in_.is_quote()) {
      WOOTZ_ASSIGN_OR_RETURN(s.name, in_.quoted());
    }
    if (in_.accept('=')) {
      if (in_.accept("input_dim"))
        s.kind = SymbolKind::kInputDim;
      else if (in_.accept("input_value"))
        s.kind = SymbolKind::kInputValue;
      else if (in_.accept("data_dependent"))
        s.kind = SymbolKind::kDataDependent;
      else
        return in_.expected("input_dim, input_value or data_dependent");
      if (!in_.accept("_")) {
        WOOTZ_ASSIGN_OR_RETURN(Token t, token());
        pending_.push_back({static_cast<size_t>(id), std::move(t.key)});
      }
      WOOTZ_ASSIGN_OR_RETURN(const int64_t index, in_.integer());
      if (index < INT32_MIN || index > INT32_MAX) return in_.fail("the index is too large");
      s.index = static_cast<int>(index);
      if (in_.accept('<')) {
        if (!in_.accept('=')) return in_.expected("'<='");
        WOOTZ_ASSIGN_OR_RETURN(s.upper_bound, in_.integer());
      }
    }
    own_symbols_.symbols.push_back(std::move(s));
    return {};
  }

  // Symbols name values that come after them: the graph gets them last.
  Status declare_symbols() {
    for (const PendingSymbol& p : pending_) {
      const auto found = values_.find(p.key);
      if (found == values_.end())
        return in_.fail(
            fmt::format("symbol '{}' is of a value that is not defined", own_symbols_.symbols[p.index].name));
      own_symbols_.symbols[p.index].value_id = found->second->id();
    }
    for (Symbol& s : own_symbols_.symbols) graph_->add_symbol(std::move(s));
    return {};
  }

  // Nodes

  Status node(std::vector<Definition> results) {
    const std::string_view name = in_.word();
    if (name.empty()) return in_.expected("an op");
    const OpDef* op = sources_.lookup(name);
    if (op == nullptr) return in_.fail(fmt::format("there is no op '{}'", name));
    if (--budget_.nodes < 0) return in_.fail(fmt::format("more than {} nodes", limits::kMaxNodes));
    if (!in_.accept('(')) return in_.expected("'('");
    std::vector<Value*> inputs;
    if (!in_.accept(')')) {
      do {
        if (static_cast<int>(inputs.size()) == limits::kMaxInputsPerNode)
          return in_.fail(fmt::format("more than {} inputs", limits::kMaxInputsPerNode));
        if (in_.accept("_")) {
          inputs.push_back(nullptr);
          continue;
        }
        WOOTZ_ASSIGN_OR_RETURN(Value * v, value());
        inputs.push_back(v);
      } while (in_.accept(','));
      if (!in_.accept(')')) return in_.expected("')'");
    }
    AttrMap attrs;
    if (in_.accept('{')) WOOTZ_RETURN_IF_ERROR(attributes(*op, &attrs));
    const bool named = in_.is_quote();
    std::string node_name;
    if (named) {
      WOOTZ_ASSIGN_OR_RETURN(node_name, in_.quoted());
      if (node_name.size() > limits::kMaxNameBytes)
        return in_.fail(fmt::format("a name of more than {} bytes", limits::kMaxNameBytes));
    }
    Node* made =
        graph_->add_node(*op, node_name, std::move(inputs), std::move(attrs), static_cast<int>(results.size()));
    if (named) made->set_name(std::move(node_name));  // also when it is empty
    for (size_t i = 0; i < results.size(); ++i) {
      if (values_.count(results[i].token.key) != 0)
        return in_.fail(fmt::format("value '{}' is defined twice", results[i].token.name));
      define(results[i].token, results[i].type, made->output(static_cast<int>(i)));
    }
    if (!in_.accept("from")) return {};
    if (!in_.accept('[')) return in_.expected("'['");
    if (in_.accept(']')) return {};
    do {
      WOOTZ_ASSIGN_OR_RETURN(std::string from, in_.quoted());
      if (made->provenance().size() >= kMaxProvenance)
        return in_.fail(fmt::format("a node that comes from more than {} nodes", kMaxProvenance));
      made->add_provenance(std::move(from));
    } while (in_.accept(','));
    return in_.accept(']') ? Status() : in_.expected("']'");
  }

  Status attributes(const OpDef& op, AttrMap* attrs) {
    if (in_.accept('}')) return {};
    do {
      std::string name(in_.word());
      if (name.empty()) {
        WOOTZ_ASSIGN_OR_RETURN(name, in_.quoted());
      }
      if (attrs->count(name) != 0) return in_.fail(fmt::format("attribute '{}' stands twice", name));
      if (!in_.accept('=')) return in_.expected("'='");
      WOOTZ_ASSIGN_OR_RETURN(Attr attr, attribute());
      for (const AttrSpec& spec : op.attributes)
        if (name == spec.name) attr = as_specified(std::move(attr), spec.kind);
      attrs->emplace(std::move(name), std::move(attr));
    } while (in_.accept(','));
    return in_.accept('}') ? Status() : in_.expected("'}' after the attributes");
  }

  Result<Attr> custom() {
    if (!*sources_.custom) return in_.fail("an op of the application's own cannot be read from text");
    WOOTZ_ASSIGN_OR_RETURN(const std::string name, in_.quoted());
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const CustomOp> op, (*sources_.custom)(name));
    return Attr(std::move(op));
  }

  // Integers where the op wants floats.
  static Attr as_specified(Attr attr, AttrKind kind) {
    if (const auto* i = std::get_if<int64_t>(&attr); i != nullptr && kind == AttrKind::kFloat)
      return static_cast<double>(*i);
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&attr); ints != nullptr && kind == AttrKind::kFloats)
      return std::vector<double>(ints->begin(), ints->end());
    return attr;
  }

  Result<Attr> attribute() {
    if (in_.is_quote()) {
      WOOTZ_ASSIGN_OR_RETURN(std::string s, in_.quoted());
      return Attr(std::move(s));
    }
    if (in_.accept("floats")) return list(true);
    if (in_.accept("custom")) return custom();
    if (in_.peek() == '[') return list(false);
    if (in_.accept("const")) {
      Type t;
      WOOTZ_RETURN_IF_ERROR(type(&t));
      const std::optional<Dims> dims = to_dims(t.shape);
      if (!dims) return in_.fail("a tensor with a shape that is not constant");
      WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, tensor_data(t.dtype, *dims));
      return Attr(std::move(tensor));
    }
    if (in_.accept("expr")) {
      WOOTZ_ASSIGN_OR_RETURN(const std::string text, in_.quoted());
      if (text.empty()) return Attr(PointwiseExpr());
      Result<PointwiseExpr> expr = PointwiseExpr::parse(text);
      if (!expr.ok()) return in_.fail(expr.status().message());
      return Attr(std::move(*expr));
    }
    if (in_.accept("graph")) {
      if (in_.accept("null")) return Attr(std::shared_ptr<Graph>());
      WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> inner,
                             GraphParser(in_, sources_, budget_, graph_.get(), symbols_, depth_ + 1).run());
      return Attr(std::shared_ptr<Graph>(std::move(inner)));
    }
    if (in_.number_is_integer()) {
      WOOTZ_ASSIGN_OR_RETURN(const int64_t i, in_.integer());
      return Attr(i);
    }
    WOOTZ_ASSIGN_OR_RETURN(const double f, in_.floating());
    return Attr(f);
  }

  // A list of integers, unless one element is a float.
  Result<Attr> list(bool floats) {
    if (!in_.accept('[')) return in_.expected("'['");
    std::vector<int64_t> ints;
    std::vector<double> values;
    if (!in_.accept(']')) {
      do {
        if (!floats && in_.number_is_integer()) {
          WOOTZ_ASSIGN_OR_RETURN(const int64_t i, in_.integer());
          ints.push_back(i);
          continue;
        }
        if (!floats) values.assign(ints.begin(), ints.end());
        floats = true;
        WOOTZ_ASSIGN_OR_RETURN(const double f, in_.floating());
        values.push_back(f);
      } while (in_.accept(','));
      if (!in_.accept(']')) return in_.expected("']'");
    }
    return floats ? Attr(std::move(values)) : Attr(std::move(ints));
  }

  Scanner& in_;
  const Sources& sources_;
  Budget& budget_;
  const Graph* const outer_;
  SymbolTable* symbols_;
  SymbolTable own_symbols_;
  const int depth_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::unordered_map<std::string, Value*> values_;
  std::vector<PendingSymbol> pending_;
  bool returned_ = false;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, OpLookup lookup) {
  return parse_graph(text, lookup, {});
}

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, OpLookup lookup, const ConstantLoader& loader,
                                           const CustomLoader& custom) {
  Scanner in(text);
  const Sources sources{lookup, &loader, &custom};
  Budget budget;
  if (!in.accept("graph")) return in.expected("graph");
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, GraphParser(in, sources, budget, nullptr, nullptr, 0).run());
  if (!in.at_end()) return in.expected("the end");
  return graph;
}

}  // namespace wootz
