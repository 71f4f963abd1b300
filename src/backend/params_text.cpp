// Text of parameters, both ways.
#include "backend/params_text.h"

#include <algorithm>

#include "backend/families.h"
#include "backend/op_kernels.h"
#include "backend/param_reader.h"

namespace wootz {
namespace {

constexpr size_t kMostElements = size_t{1} << 24;  // of one list
constexpr size_t kMostShown = 80;                  // characters of a value in a message

// ---- text of a value

struct Printer {
  std::string* out;

  void operator()(const bool* v) const { *out += *v ? '1' : '0'; }
  void operator()(const int64_t* v) const { append_integer(*v, out); }
  void operator()(const double* v) const { append_real(*v, out); }
  void operator()(const std::string* v) const { append_quoted(*v, out); }
  void operator()(const DType* v) const { *out += dtype_name(*v); }
  void operator()(const PointwiseExpr* v) const { append_quoted(v->to_string(), out); }
  void operator()(const ChoiceRef& v) const { *out += choice_name(v.names, *v.value); }
  void operator()(const ChoicesRef& v) const {
    *out += '[';
    for (size_t i = 0; i < v.size(v.list); ++i) {
      if (i != 0) *out += ',';
      *out += choice_name(v.names, v.at(v.list, i));
    }
    *out += ']';
  }
  template <typename T>
  void operator()(const std::optional<T>* v) const {
    if (*v)
      (*this)(&**v);
    else
      *out += "none";
  }
  template <typename T>
  void operator()(const std::vector<T>* v) const {
    *out += '[';
    for (size_t i = 0; i < v->size(); ++i) {
      if (i != 0) *out += ',';
      (*this)(&(*v)[i]);
    }
    *out += ']';
  }
  void operator()(const FamilyParamsBox* v) const {
    if (v->get() == nullptr)
      *out += "none";
    else
      append_params(v->get()->params, out);
  }
  void operator()(const OpParamsBox* v) const {
    if (v->get() == nullptr) {
      *out += "none";
      return;
    }
    const OpKernelParams& params = v->get()->params;
    const ParamTable& table = op_kernel_table(params.index());
    *out += table.name;
    append_params(table, params_address(params), out);
  }
};

// ---- value of a text. False, or an error that says more: it is no such value.

struct Parser {
  ParamReader& in;
  bool inside;  // of a box: none in it
  Status* error;

  bool operator()(bool* v) const {
    *v = in.accept('1');
    return *v || in.accept('0');
  }
  bool operator()(int64_t* v) const { return in.integer(v); }
  bool operator()(double* v) const { return in.real(v); }
  bool operator()(std::string* v) const { return in.quoted(v); }
  bool operator()(DType* v) const {
    const std::string_view name = in.word();
    *v = dtype_from_name(name);
    return *v != DType::kInvalid || name == dtype_name(DType::kInvalid);
  }
  bool operator()(PointwiseExpr* v) const {
    std::string text;
    if (!in.quoted(&text)) return false;
    if (text.empty()) return true;
    Result<PointwiseExpr> parsed = PointwiseExpr::parse(text);
    if (!parsed.ok()) return fail(parsed.status());
    *v = std::move(parsed).value();
    const Status status = v->verify();
    return status.ok() || fail(status);
  }
  bool operator()(const ChoiceRef& v) const {
    const std::optional<size_t> index = choice_index(v.names, in.word());
    if (index) *v.value = static_cast<uint8_t>(*index);
    return index.has_value();
  }
  bool operator()(const ChoicesRef& v) const {
    return list([&] {
      const std::optional<size_t> index = choice_index(v.names, in.word());
      if (index) v.add(v.list, static_cast<uint8_t>(*index));
      return index.has_value() && v.size(v.list) <= kMostElements;
    });
  }
  template <typename T>
  bool operator()(std::optional<T>* v) const {
    v->reset();
    return in.accept("none") || (*this)(&v->emplace());
  }
  template <typename T>
  bool operator()(std::vector<T>* v) const {
    v->clear();
    return list([&] { return v->size() < kMostElements && (*this)(&v->emplace_back()); });
  }
  bool operator()(FamilyParamsBox* v) const {
    if (in.accept("none")) return true;
    Family family{};
    if (inside || !family_from_name(in.word(), &family)) return false;
    FamilyParams params = default_params(family);
    const Status status = parse(family_table(family), params_address(params));
    *v = box_params(std::move(params));
    return status.ok() || fail(status);
  }
  bool operator()(OpParamsBox* v) const {
    if (in.accept("none")) return true;
    const std::optional<size_t> index = op_kernel_index(in.word());
    if (inside || !index) return false;
    OpKernelParams params = default_op_params(*index);
    const Status status = parse(op_kernel_table(*index), params_address(params));
    *v = box_params(std::move(params));
    return status.ok() || fail(status);
  }

  Status parse(const ParamTable& table, void* params) const;

 private:
  bool fail(Status status) const {
    *error = std::move(status);
    return false;
  }
  template <typename Element>
  bool list(Element element) const {
    if (!in.accept('[')) return false;
    if (in.accept(']')) return true;
    do {
      if (!element()) return false;
    } while (in.accept(','));
    return in.accept(']');
  }
};

Status Parser::parse(const ParamTable& table, void* params) const {
  if (!in.accept('{')) return corrupt("{}: parameters in braces expected at '{}'", table.name, shown_text(in.rest()));
  uint64_t seen = 0;
  while (!in.accept('}')) {
    if (seen != 0 && !in.accept(';')) return corrupt("{}: ';' expected at '{}'", table.name, shown_text(in.rest()));
    const std::string_view name = in.word();
    const auto field =
        std::find_if(table.fields.begin(), table.fields.end(), [&](const ParamField& f) { return name == f.name; });
    if (name.empty() || field == table.fields.end() || !in.accept('='))
      return corrupt("{}: no parameter '{}'", table.name, shown_text(name));
    const uint64_t bit = uint64_t{1} << (field - table.fields.begin());
    if ((seen & bit) != 0) return corrupt("{}: parameter '{}' twice", table.name, field->name);
    seen |= bit;
    const ParamRef ref = field->of(params);
    const std::string_view before = in.rest();
    if (!std::visit(*this, ref)) {
      if (!error->ok()) return error->with_prefix(fmt::format("{}: parameter '{}'", table.name, field->name));
      return refused_param(table, *field, ref, before.substr(0, std::min(before.find_first_of(";}"), kMostShown + 1)));
    }
    WOOTZ_RETURN_IF_ERROR(check_param(table, *field, ref));
  }
  return {};
}

}  // namespace

std::string shown_text(std::string_view text) {
  std::string s(text.substr(0, kMostShown));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > kMostShown ? s + "..." : s;
}

void append_value(const ParamRef& ref, std::string* text) { std::visit(Printer{text}, ref); }

void append_params(const ParamTable& table, const void* params, std::string* text) {
  *text += '{';
  bool first = true;
  for (const ParamField& field : table.fields) {
    if (is_default(table, field, params)) continue;
    if (!first) *text += ';';
    first = false;
    *text += field.name;
    *text += '=';
    append_value(field.of(const_cast<void*>(params)), text);  // only read
  }
  *text += '}';
}

Status parse_params(const ParamTable& table, ParamReader& in, void* params) {
  Status error;
  return Parser{in, false, &error}.parse(table, params);
}

}  // namespace wootz
