// Problem::key() and its inverse.
#include "backend/problem_text.h"

#include <fmt/format.h>

#include "backend/param_reader.h"

namespace wootz {
namespace {

constexpr std::string_view kEpilogue = ";epilogue={";

void append(std::string* key, const TensorDesc& t) {
  *key += fmt::format("{}:{}{}", dtype_name(t.dtype), layout_name(t.layout), t.dims.to_string());
  if (t.dynamic()) *key += "<=" + t.max_dims.to_string();
  if (t.constant) *key += "const";
}

Status unexpected(const ParamReader& in, const char* wanted) {
  return corrupt("{} expected at '{}'", wanted, in.rest().substr(0, 60));
}

Status read_dims(ParamReader& in, Dims* dims) {
  *dims = {};
  if (!in.accept('[')) return unexpected(in, "'['");
  if (in.accept(']')) return Status();
  do {
    int64_t extent = 0;
    if (!in.integer(&extent)) return unexpected(in, "an extent");
    if (dims->rank() >= limits::kMaxRank) return unexpected(in, "fewer axes");
    dims->push_back(extent);
  } while (in.accept('x'));
  return in.accept(']') ? Status() : unexpected(in, "']'");
}

Status read_dtype(ParamReader& in, DType* dtype) {
  const std::string_view name = in.word();
  *dtype = dtype_from_name(name);
  if (*dtype != DType::kInvalid || name == dtype_name(DType::kInvalid)) return Status();
  return corrupt("'{}' is no element type", name.substr(0, 60));
}

Status read_tensor(ParamReader& in, TensorDesc* t) {
  WOOTZ_RETURN_IF_ERROR(read_dtype(in, &t->dtype));
  if (!in.accept(':')) return unexpected(in, "':'");
  const std::string_view layout = in.word();
  if (!layout_from_name(layout, &t->layout)) return corrupt("'{}' is no layout", layout.substr(0, 60));
  WOOTZ_RETURN_IF_ERROR(read_dims(in, &t->dims));
  t->max_dims = t->dims;
  if (in.accept("<=")) WOOTZ_RETURN_IF_ERROR(read_dims(in, &t->max_dims));
  t->constant = in.accept("const");
  return Status();
}

// In parentheses, separated by commas, or by a semicolon where the epilogue's begin.
Status read_tensors(ParamReader& in, std::vector<TensorDesc>* tensors) {
  if (!in.accept('(')) return unexpected(in, "'('");
  if (in.accept(')')) return Status();
  do {
    WOOTZ_RETURN_IF_ERROR(read_tensor(in, &tensors->emplace_back()));
  } while (in.accept(',') || in.accept(';'));
  return in.accept(')') ? Status() : unexpected(in, "')'");
}

Status read_epilogue(ParamReader& in, PointwiseExpr* epilogue) {
  if (in.at_end()) return Status();
  if (!in.accept(kEpilogue)) return unexpected(in, "the epilogue");
  std::string_view body = in.rest();
  if (!body.ends_with('}')) return unexpected(in, "'}' at the end");
  body.remove_suffix(1);
  WOOTZ_ASSIGN_OR_RETURN(*epilogue, PointwiseExpr::parse(body));
  return epilogue->verify();
}

}  // namespace

std::string Problem::key() const {
  std::string s;
  append_params(params, &s);
  s += '(';
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 0) s += i == static_cast<size_t>(num_main) ? ';' : ',';
    append(&s, inputs[i]);
  }
  s += ")->(";
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i != 0) s += ',';
    append(&s, outputs[i]);
  }
  s += fmt::format(")main={};acc={}", num_main, dtype_name(acc_dtype));
  if (passing) s += ";passing";
  const std::string body = epilogue.to_string();
  if (!body.empty()) s.append(kEpilogue).append(body) += '}';
  return s;
}

Result<Problem> parse_problem(std::string_view key) {
  ParamReader in(key);
  Problem p;
  WOOTZ_ASSIGN_OR_RETURN(p.params, read_family_params(in));
  WOOTZ_RETURN_IF_ERROR(read_tensors(in, &p.inputs));
  if (!in.accept("->")) return unexpected(in, "'->'");
  WOOTZ_RETURN_IF_ERROR(read_tensors(in, &p.outputs));
  int64_t num_main = 0;
  if (!in.accept("main=") || !in.integer(&num_main)) return unexpected(in, "the number of main inputs");
  if (num_main < 0 || num_main > static_cast<int64_t>(p.inputs.size()))
    return corrupt("{} main inputs of {}", num_main, p.inputs.size());
  p.num_main = static_cast<int>(num_main);
  if (!in.accept(";acc=")) return unexpected(in, "the accumulator's type");
  WOOTZ_RETURN_IF_ERROR(read_dtype(in, &p.acc_dtype));
  p.passing = in.accept(";passing");
  WOOTZ_RETURN_IF_ERROR(read_epilogue(in, &p.epilogue));
  return p;
}

}  // namespace wootz
