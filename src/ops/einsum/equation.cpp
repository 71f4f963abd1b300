#include "ops/einsum/equation.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "base/limits.h"

namespace wootz::ops {
namespace {

constexpr char kEllipsis = '.';  // stands for "..." after reading a term

// "ab...c" -> "ab.c"
Result<std::string> read_term(std::string_view text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text.substr(i, 3) != "..." || term.find(kEllipsis) != std::string::npos)
        return invalid_argument("'{}' is no term of an equation", text);
      term += kEllipsis;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      term += text[i];
    } else {
      return invalid_argument("'{}' is no term of an equation", text);
    }
  }
  return term;
}

// Ellipses in implicit order come first, then letters that occur once, in ASCII order.
std::string implied_output(const std::vector<std::string>& terms) {
  std::map<char, int> count;
  for (const std::string& term : terms)
    for (char c : term) ++count[c];
  std::string output;
  if (count.count(kEllipsis) != 0) output += kEllipsis;
  for (const auto& [c, n] : count)
    if (n == 1 && c != kEllipsis) output += c;
  return output;
}

}  // namespace

Result<Equation> parse_equation(std::string_view text, const std::vector<int>& ranks) {
  std::string clean(text);
  std::erase(clean, ' ');
  const size_t arrow = clean.find("->");
  std::string_view left = std::string_view(clean).substr(0, arrow);
  std::vector<std::string> terms;
  while (true) {
    const size_t comma = left.find(',');
    WOOTZ_ASSIGN_OR_RETURN(std::string term, read_term(left.substr(0, comma)));
    terms.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  if (terms.size() != ranks.size())
    return invalid_argument("the equation '{}' has {} terms for {} operands", text, terms.size(), ranks.size());
  std::string output = implied_output(terms);
  if (arrow != std::string::npos) {
    WOOTZ_ASSIGN_OR_RETURN(output, read_term(std::string_view(clean).substr(arrow + 2)));
  }

  // How many axes the widest ellipsis stands for.
  int wide = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto letters = static_cast<int>(terms[i].size());
    const bool open = terms[i].find(kEllipsis) != std::string::npos;
    const int axes = open ? ranks[i] - (letters - 1) : 0;
    if (open ? axes < 0 : letters != ranks[i])
      return invalid_argument("term {} of '{}' does not fit an operand of rank {}", i, text, ranks[i]);
    wide = std::max(wide, axes);
  }
  // The ellipsis takes labels [0, wide), letters follow.
  Equation equation;
  equation.num_labels = wide;
  std::map<char, int> label;
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<int> axes;
    for (char c : terms[i]) {
      if (c == kEllipsis) {
        const int own = ranks[i] - (static_cast<int>(terms[i].size()) - 1);
        for (int a = wide - own; a < wide; ++a) axes.push_back(a);
      } else {
        const auto [it, fresh] = label.emplace(c, equation.num_labels);
        equation.num_labels += fresh;
        axes.push_back(it->second);
      }
    }
    equation.terms.push_back(std::move(axes));
  }
  for (char c : output) {
    if (c == kEllipsis) {
      for (int a = 0; a < wide; ++a) equation.output.push_back(a);
      continue;
    }
    const auto it = label.find(c);
    if (it == label.end() || std::count(output.begin(), output.end(), c) != 1)
      return invalid_argument("the output '{}' of '{}' must list letters of the terms, each once", output, text);
    equation.output.push_back(it->second);
  }
  return equation;
}

}  // namespace wootz::ops
