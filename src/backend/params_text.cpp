// Text of parameters, both ways.
#include "backend/params_text.h"

#include <algorithm>

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
  void operator()(const BoxRef& v) const {
    if (v.box->table() == nullptr) {
      *out += "none";
      return;
    }
    *out += v.box->table()->name;
    append_params(*v.box->table(), v.box->params(), out);
  }
};

// ---- value of a text. False, or an error that says more: it is no such value.

// One in the other: siblings of a chain's, a chain of a chain and another; among chains one more, a chain of a chain of
// a convolution and a chain.
constexpr int kMostBoxes = 2;

struct Parser {
  ParamReader& in;
  const ParamTable* table;  // whose parameters they are
  int boxes;                // that they are in
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
  bool operator()(const BoxRef& v) const {
    if (in.accept("none")) return true;
    ParamSet set;
    if (boxes < kMostBoxes + v.kind->within_itself(*table)) set = v.kind->make(in.word());
    if (set.table == nullptr || (set.table == table && !v.kind->within_itself(*table))) return false;
    const Status status = Parser{in, set.table, boxes + 1, error}.parse(set.params);
    *v.box = ParamsBox(std::move(set));
    return status.ok() || fail(status);
  }

  Status parse(void* params) const;

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

// ---- what is allowed

std::string allowed(const ParamField& field, const ParamRef& ref) {
  const auto choices = [](std::string_view names) {
    std::string s = "one of " + std::string(names);
    for (size_t at = s.find(' ', 7); at != std::string::npos; at = s.find(' ', at + 2)) s.replace(at, 1, ", ");
    return s;
  };
  if (const auto* choice = std::get_if<ChoiceRef>(&ref)) return choices(choice->names);
  if (const auto* list = std::get_if<ChoicesRef>(&ref)) return "a list, each " + choices(list->names);
  if (std::holds_alternative<bool*>(ref)) return "0 or 1";
  std::string type = field.type;
  if (field.range.bounded()) type += ", " + field.range.to_string();
  return type;
}

std::string shown(std::string_view text) {
  std::string s(text.substr(0, kMostShown));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > kMostShown ? s + "..." : s;
}

Status refused(const ParamTable& table, const ParamField& field, const ParamRef& ref, std::string_view value) {
  return corrupt("{}: parameter '{}' is {}; allowed: {}", table.name, field.name, shown(value), allowed(field, ref));
}

Status check_param(const ParamTable& table, const ParamField& field, const ParamRef& ref) {
  if (const auto* box = std::get_if<BoxRef>(&ref); box != nullptr && box->box->table() != nullptr) {
    const Status status = check_params(*box->box->table(), box->box->params());
    return status.ok() ? status : status.with_prefix(fmt::format("{}: parameter '{}'", table.name, field.name));
  }
  if (is_allowed(field, ref)) return {};
  std::string text;
  append_value(ref, &text);
  return refused(table, field, ref, text);
}

Status Parser::parse(void* params) const {
  if (!in.accept('{')) return corrupt("{}: parameters in braces expected at '{}'", table->name, shown(in.rest()));
  uint64_t seen = 0;
  while (!in.accept('}')) {
    if (seen != 0 && !in.accept(';')) return corrupt("{}: ';' expected at '{}'", table->name, shown(in.rest()));
    const std::string_view name = in.word();
    const auto field =
        std::find_if(table->fields.begin(), table->fields.end(), [&](const ParamField& f) { return name == f.name; });
    if (name.empty() || field == table->fields.end() || !in.accept('='))
      return corrupt("{}: no parameter '{}'", table->name, shown(name));
    const uint64_t bit = uint64_t{1} << (field - table->fields.begin());
    if ((seen & bit) != 0) return corrupt("{}: parameter '{}' twice", table->name, field->name);
    seen |= bit;
    const ParamRef ref = field->of(params);
    const std::string_view before = in.rest();
    if (!std::visit(*this, ref)) {
      if (!error->ok()) return error->with_prefix(fmt::format("{}: parameter '{}'", table->name, field->name));
      return refused(*table, *field, ref, before.substr(0, std::min(before.find_first_of(";}"), kMostShown + 1)));
    }
    WOOTZ_RETURN_IF_ERROR(check_param(*table, *field, ref));
  }
  return {};
}

}  // namespace

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
    append_value(read_ref(field, params), text);
  }
  *text += '}';
}

Status parse_params(const ParamTable& table, ParamReader& in, void* params) {
  Status error;
  return Parser{in, &table, 0, &error}.parse(params);
}

Status check_params(const ParamTable& table, const void* params) {
  for (const ParamField& field : table.fields)
    WOOTZ_RETURN_IF_ERROR(check_param(table, field, read_ref(field, params)));
  return {};
}

}  // namespace wootz
