#include "ir/parse_dim.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int kMaxDimNesting = 128;
constexpr uint64_t kFreeDimWork = 1'000'000;  // beyond what the length of the text pays for

class DimParser {
 public:
  DimParser(Scanner& in, const SymbolsByName& symbols, uint64_t& work) : in_(in), symbols_(symbols), work_(work) {}

  Result<Dim> sum(int nesting) {
    WOOTZ_ASSIGN_OR_RETURN(Dim total, product(nesting));
    for (char c = in_.peek(); c == '+' || c == '-'; c = in_.peek()) {
      in_.accept(c);
      WOOTZ_ASSIGN_OR_RETURN(const Dim term, product(nesting));
      WOOTZ_RETURN_IF_ERROR(charge(total, term));
      total = c == '+' ? total + term : total - term;
    }
    return total;
  }

  Result<Dim> product(int nesting) {
    WOOTZ_ASSIGN_OR_RETURN(Dim total, factor(nesting));
    for (char c = in_.peek(); c == '*' || c == '/'; c = in_.peek()) {
      in_.accept(c);
      WOOTZ_ASSIGN_OR_RETURN(const Dim next, factor(nesting));
      WOOTZ_RETURN_IF_ERROR(charge(total, next));
      total = c == '*' ? total * next : floor_div(total, next);
    }
    return total;
  }

  Result<Dim> factor(int nesting) {
    if (nesting > kMaxDimNesting) return in_.fail(fmt::format("a dimension nests deeper than {}", kMaxDimNesting));
    const char c = in_.peek();
    if (c >= '0' && c <= '9') {
      WOOTZ_ASSIGN_OR_RETURN(const int64_t number, in_.integer());
      return Dim(number);
    }
    if (in_.accept('-')) {
      if (const char next = in_.peek(); next >= '0' && next <= '9') {  // -2^63 has no positive counterpart
        WOOTZ_ASSIGN_OR_RETURN(const uint64_t number, in_.unsigned_integer());
        if (number > uint64_t{1} << 63) return in_.fail("the integer is too large");
        return Dim(static_cast<int64_t>(0 - number));
      }
      WOOTZ_ASSIGN_OR_RETURN(const Dim d, factor(nesting + 1));
      return Dim(-1) * d;
    }
    if (in_.accept('(')) {
      WOOTZ_ASSIGN_OR_RETURN(Dim d, sum(nesting + 1));
      return in_.accept(')') ? Result<Dim>(std::move(d)) : Result<Dim>(in_.expected("')'"));
    }
    const std::string_view word = in_.word();
    if (word.empty()) return in_.expected("a dimension");
    if (in_.peek() == '(') return function(word, nesting);
    const auto found = symbols_.find(std::string(word));
    if (found == symbols_.end()) return in_.fail(fmt::format("symbol '{}' is not declared", word));
    return Dim::symbol(found->second);
  }

  Result<Dim> function(std::string_view name, int nesting) {
    struct Entry {
      std::string_view name;
      Dim (*apply)(const Dim&, const Dim&);
      bool many;
    };
    static constexpr Entry kFunctions[] = {
        {"min", dim_min, true}, {"max", dim_max, true}, {"mod", mod, false}, {"ceil_div", ceil_div, false}};
    const auto* entry =
        std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Entry& e) { return e.name == name; });
    if (entry == std::end(kFunctions)) return in_.fail(fmt::format("no function of dimensions is called '{}'", name));
    in_.accept('(');
    WOOTZ_ASSIGN_OR_RETURN(Dim total, sum(nesting + 1));
    int count = 1;
    for (; in_.accept(','); ++count) {
      WOOTZ_ASSIGN_OR_RETURN(const Dim next, sum(nesting + 1));
      // Comparing every operand with every other costs more than adding them.
      for (int k = 0; k < (entry->many ? 8 : 1); ++k) WOOTZ_RETURN_IF_ERROR(charge(total, next));
      total = entry->apply(total, next);
    }
    if (count < 2 || (count > 2 && !entry->many))
      return in_.fail(fmt::format("{} takes {} dimensions", name, entry->many ? "two or more" : "two"));
    if (!in_.accept(')')) return in_.expected("')'");
    return total;
  }

 private:
  Status charge(const Dim& a, const Dim& b) {
    work_ += static_cast<uint64_t>(a.size()) + static_cast<uint64_t>(b.size());
    if (work_ > 4 * in_.text().size() + kFreeDimWork) return in_.fail("the dimensions are too complicated");
    return {};
  }

  Scanner& in_;
  const SymbolsByName& symbols_;
  uint64_t& work_;
};

}  // namespace

Result<Dim> parse_dim(Scanner& in, const SymbolsByName& symbols, uint64_t* work) {
  return DimParser(in, symbols, *work).sum(0);
}

}  // namespace wootz
