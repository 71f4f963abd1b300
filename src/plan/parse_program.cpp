#include "plan/parse_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/param_reader.h"
#include "backend/problem_text.h"
#include "base/json.h"
#include "plan/program_words.h"

namespace wootz {
namespace {

constexpr int kMostDepth = 16;  // bodies within bodies

// A line, read word by word.
class Line {
 public:
  Line(std::string_view text, size_t number) : text_(text), number_(number) { skip(); }

  size_t number() const { return number_; }
  bool at_end() const { return text_.empty(); }
  std::string_view rest() const { return text_; }
  bool accept(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    skip();
    return true;
  }
  // Up to a blank.
  std::string_view word() {
    const std::string_view word = text_.substr(0, text_.find(' '));
    accept(word);
    return word;
  }
  template <typename T>
  bool number(T* value) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), *value);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    skip();
    return true;
  }
  template <typename Tag>
  bool number(Index<Tag>* value) {
    int32_t read = -1;
    const bool good = number(&read);
    if (good) *value = Index<Tag>(read);
    return good;
  }
  // A number, or '-' for none.
  template <typename I>
  bool index(I* value) {
    if (text_.starts_with('-') && (text_.size() == 1 || text_[1] < '0' || text_[1] > '9')) {
      *value = I(-1);
      return accept("-");
    }
    return number(value);
  }
  // As long as there are some.
  template <typename I>
  void indices(std::vector<I>* list) {
    for (I value = I(0); index(&value);) list->push_back(value);
  }
  template <typename I>
  bool bracketed(std::vector<I>* list) {
    if (!accept("[")) return false;
    indices(list);
    return accept("]");
  }
  bool quoted(std::string* text) {
    if (!text_.starts_with('"')) return false;
    size_t end = 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return false;
    const auto parsed = SortedJson::parse(text_.substr(0, end + 1), nullptr, false);
    if (!parsed.is_string()) return false;
    *text = parsed.get<std::string>();
    text_.remove_prefix(end + 1);
    skip();
    return true;
  }
  template <size_t N>
  bool one_of(const char* const (&words)[N], size_t* index) {
    const std::string_view found = word();
    *index = static_cast<size_t>(std::find(std::begin(words), std::end(words), found) - std::begin(words));
    return *index < N;
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }

  std::string_view text_;
  size_t number_;
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool at_end() const { return text_.empty(); }
  Line next() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    Line line(text_.substr(0, end), ++number_);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return line;
  }

 private:
  std::string_view text_;
  size_t number_ = 0;
};

class ProgramReader {
 public:
  ProgramReader(Lines& lines, const FillConstant& fill, int depth) : lines_(lines), fill_(fill), depth_(depth) {}

  Status read(Program* program) {
    if (depth_ > kMostDepth) return corrupt("bodies are nested more than {} deep", kMostDepth);
    p_ = program;
    Line head = lines_.next();
    if (!head.accept("program") || !head.quoted(&p_->name)) return wrong(head, "a program and its name");
    if (head.rest() != "{") p_->backend = head.word();
    if (head.rest() != "{") return wrong(head, "'{'");
    while (!lines_.at_end()) {
      Line line = lines_.next();
      if (line.rest() == "}") return Status();
      WOOTZ_RETURN_IF_ERROR(entry(line));
    }
    return corrupt("the program has no end");
  }

 private:
  using Read = bool (ProgramReader::*)(Line&);
  struct Entry {
    const char* word;
    Read read;
  };

  static Status wrong(const Line& line, const char* wanted) {
    return corrupt("line {}: {} expected at '{}'", line.number(), wanted, line.rest().substr(0, 80));
  }

  Status entry(Line line) {
    static constexpr Entry kEntries[] = {
        {"device", &ProgramReader::device},   {"property", &ProgramReader::property},
        {"expr", &ProgramReader::expr},       {"symbol", &ProgramReader::symbol},
        {"profile", &ProgramReader::profile}, {"check", &ProgramReader::check},
        {"tensor", &ProgramReader::tensor},   {"constant", &ProgramReader::constant},
        {"input", &ProgramReader::input},     {"output", &ProgramReader::output},
        {"step", &ProgramReader::step},       {"computes", &ProgramReader::computes},
        {"by", &ProgramReader::tactic},       {"reads", &ProgramReader::operands},
        {"from", &ProgramReader::provenance}, {"native", &ProgramReader::native},
        {"body", &ProgramReader::body},
    };
    const std::string_view word = line.word();
    for (const Entry& e : kEntries) {
      if (word != e.word) continue;
      const bool good = (this->*e.read)(line);
      const bool has_line = e.read == &ProgramReader::body;  // the error of a line in it
      if (!error_.ok()) return has_line ? error_ : error_.with_prefix(fmt::format("line {}", line.number()));
      return good ? Status() : wrong(line, e.word);
    }
    return corrupt("line {}: nothing in a program is called '{}'", line.number(), word.substr(0, 80));
  }

  template <typename T>
  bool take(Result<T> result, T* value) {
    error_ = result.status();
    if (result.ok()) *value = std::move(result).value();
    return result.ok();
  }
  template <typename List>
  auto* numbered(Line& line, List* list) {
    size_t number = 0;
    return line.number(&number) && number == list->size() ? &list->emplace_back() : nullptr;
  }
  Step* last_step() { return p_->steps.empty() ? nullptr : &p_->steps.back(); }

  bool device(Line& line) { return line.quoted(&p_->device) && line.at_end(); }
  bool property(Line& line) {
    const std::string name(line.word());
    return line.accept("=") && line.quoted(&p_->properties[name]) && line.at_end();
  }
  bool expr(Line& line) {
    ShapeExpr* e = numbered(line, &p_->exprs);
    if (e == nullptr || !line.accept("=")) return false;
    if (line.number(&e->value)) return line.at_end();
    size_t op = 0;
    if (!line.one_of(program_words::kShapeOps, &op)) return false;
    e->op = static_cast<ShapeOp>(op);
    if (e->op == ShapeOp::kSymbol) return line.number(&e->value) && line.at_end();
    line.indices(&e->operands);
    return line.at_end();
  }
  bool symbol(Line& line) {
    PlanSymbol* s = numbered(line, &p_->symbols);
    size_t source = 0;
    if (s == nullptr || !line.quoted(&s->name) || !line.accept("=") || !line.one_of(program_words::kSources, &source))
      return false;
    s->source = static_cast<SymbolSource>(source);
    return line.accept("tensor") && line.number(&s->tensor) && line.accept("axis") && line.number(&s->axis) &&
           line.at_end();
  }
  bool profile(Line& line) {
    PlanProfile& profile = p_->profiles.emplace_back();
    while (!line.at_end()) {
      if (line.accept("by body")) return line.number(&profile.body) && line.at_end();
      SymbolRange& r = profile.symbols.emplace_back();
      if (!line.accept("[") || !line.number(&r.min) || !line.accept(",") || !line.number(&r.opt) || !line.accept(",") ||
          !line.number(&r.max) || !line.accept("]"))
        return false;
    }
    return true;
  }
  bool check(Line& line) {
    ShapeCheck& c = p_->checks.emplace_back();
    return line.index(&c.expr) && line.quoted(&c.message) && line.at_end();
  }
  bool tensor(Line& line) {
    PlanTensor* t = numbered(line, &p_->tensors);
    if (t == nullptr || !line.quoted(&t->name)) return false;
    const std::string_view type = line.word();
    t->dtype = dtype_from_name(type);
    size_t kind = 0;
    if ((t->dtype == DType::kInvalid && type != dtype_name(t->dtype)) || !layout_from_name(line.word(), &t->layout) ||
        !line.one_of(program_words::kKinds, &kind))
      return false;
    t->kind = static_cast<TensorKind>(kind);
    if (line.accept("of ") && !line.number(&t->view_of)) return false;
    if (line.accept("from element") && !line.number(&t->offset)) return false;
    if (line.accept("subviews") && !line.bracketed(&t->subviews)) return false;
    if (line.accept("values") && !line.bracketed(&t->values)) return false;
    line.number(&t->constant);
    return line.bracketed(&t->dims) && line.at_end();
  }
  bool constant(Line& line) {
    PlanConstant* c = numbered(line, &p_->constants);
    if (c == nullptr || !line.quoted(&c->name)) return false;
    const std::string_view type = line.rest().substr(0, line.rest().find('['));
    c->dtype = dtype_from_name(type);
    if ((c->dtype == DType::kInvalid && type != dtype_name(c->dtype)) || !line.accept(type) || !line.accept("["))
      return false;
    for (int64_t extent = 0; line.number(&extent); line.accept("x")) {
      if (c->dims.rank() == limits::kMaxRank) return false;
      c->dims.push_back(extent);
    }
    if (!line.accept("]") || !layout_from_name(line.word(), &c->layout) || !line.number(&c->bytes) ||
        !line.accept("bytes") || (line.accept("form ") && !line.number(&c->form_version)))
      return false;
    const std::string_view digest = line.word();
    if (fill_) error_ = fill_(digest, c);
    return line.at_end();
  }
  bool input(Line& line) {
    IoTensor& io = p_->inputs.emplace_back();
    if (!line.index(&io.tensor)) return false;
    io.is_shape_tensor = line.accept("decides shapes");
    return line.at_end();
  }
  bool output(Line& line) { return line.index(&p_->outputs.emplace_back().tensor) && line.at_end(); }
  bool step(Line& line) {
    Step* s = numbered(line, &p_->steps);
    return s != nullptr && line.quoted(&s->name) && line.at_end();
  }
  bool computes(Line& line) {
    return last_step() != nullptr && take(parse_problem(line.rest()), &last_step()->problem);
  }
  // "provider:kernel", and "?config" where there is one.
  bool tactic(Line& line) {
    const std::string_view text = line.rest();
    const size_t colon = text.find(':'), query = std::min(text.find('?'), text.size());
    if (last_step() == nullptr || colon > query) return false;
    last_step()->tactic = {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1, query - colon - 1)),
                           std::string(text.substr(std::min(query + 1, text.size())))};
    return true;
  }
  bool operands(Line& line) {
    Step* s = last_step();
    if (s == nullptr) return false;
    line.indices(&s->inputs);
    if (!line.accept(", writes")) return false;
    line.indices(&s->outputs);
    return line.accept(", workspace") && line.number(&s->workspace) && line.accept(",") &&
           line.number(&s->measured_us) && line.accept("us, stream") && line.number(&s->stream) && line.at_end();
  }
  bool provenance(Line& line) {
    if (last_step() == nullptr) return false;
    while (!line.at_end())
      if (!line.quoted(&last_step()->provenance.emplace_back())) return false;
    return true;
  }
  bool native(Line& line) {
    std::string key;
    return line.quoted(&key);
  }
  bool body(Line& line) {
    size_t number = 0;
    if (!line.number(&number) || number != p_->bodies.size() || !line.accept(":") || !line.at_end()) return false;
    error_ = ProgramReader(lines_, fill_, depth_ + 1).read(&p_->bodies.emplace_back());
    return error_.ok();
  }

  Lines& lines_;
  const FillConstant& fill_;
  const int depth_;
  Program* p_ = nullptr;
  Status error_;  // says more than that a line is wrong
};

}  // namespace

Result<Program> parse_program(std::string_view text, const FillConstant& fill) {
  Lines lines(text);
  Program program;
  WOOTZ_RETURN_IF_ERROR(ProgramReader(lines, fill, 0).read(&program));
  while (!lines.at_end())
    if (!lines.next().at_end()) return corrupt("text after the program");
  return program;
}

}  // namespace wootz
