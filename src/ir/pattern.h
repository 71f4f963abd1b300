// Tree patterns over a graph, for passes that recognize spelled-out compositions:
//
//   const Pattern kSilu = pat::op("Mul", {pat::any("x"), pat::op("Sigmoid", {pat::same("x")})});
//   if (std::optional<Match> m = match(kSilu, node)) ... m->value("x") ...
//
// A pattern stands for a value. A name binds what it matched; the same name twice demands the same value.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace wootz {

class Pattern {
 public:
  struct Rep;
  explicit Pattern(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

  // Each of these gives a changed copy.
  Pattern as(std::string name) const;  // binds the matched value, and its node for an op
  Pattern single_use() const;          // exactly one use, and no graph output
  Pattern output(int index) const;     // the value is that output of the op (0 unless said)
  Pattern more_inputs() const;         // the op may have inputs beyond those listed
  Pattern ordered() const;             // inputs in this order, even when the op is commutative
  Pattern where(std::function<bool(const Node&)> predicate) const;  // for ops
  Pattern attr(std::string name, int64_t value) const;              // an integer attribute; absent does not match
  Pattern where_value(std::function<bool(const Value&)> predicate) const;  // for anything

  const Rep& rep() const { return *rep_; }

 private:
  std::shared_ptr<const Rep> rep_;
};

namespace pat {

Pattern any(std::string name = "");       // any value
Pattern same(std::string name);           // the value bound to that name elsewhere
Pattern constant(std::string name = "");  // a constant
Pattern scalar(double value);             // a constant of one element, equal up to the precision of its type
Pattern scalar(std::string name);         // a constant of one element
Pattern scalar_if(std::function<bool(double)> predicate, std::string name = "");
Pattern none();  // an omitted input
// An output of such a node. Inputs listed are all it has (omitted ones at the end do not count), in either order
// for the first two of an op whose traits say commutative. No list: any inputs.
Pattern op(std::string name, std::vector<Pattern> inputs);
Pattern op(std::string name);
Pattern one_of(std::vector<std::string> op_names, std::vector<Pattern> inputs);
Pattern either(std::vector<Pattern> alternatives);  // the first that matches
Pattern maybe(std::string op_name, Pattern inner);  // inner, or a one-input node of that op over it

}  // namespace pat

struct Match {
  std::map<std::string, Value*, std::less<>> values;
  std::map<std::string, Node*, std::less<>> bound_nodes;
  std::vector<Node*> nodes;  // every node matched, the root first, each once

  Value* value(std::string_view name) const;  // null when nothing has that name (in another alternative)
  Node* node(std::string_view name) const;
  double scalar(std::string_view name) const;  // first element of a bound constant, NaN when there is none
};

enum class MatchUses : uint8_t {
  kClosed,  // no value inside the match is read outside of it or is a graph output: the nodes can go together
  kAny,
};

// Whether output 0 of `root` (or the one the pattern names) matches. Backtracks over commutative inputs and
// alternatives; gives up (no match) after a fixed number of steps, so that no graph makes it slow.
std::optional<Match> match(const Pattern& pattern, Node* root, MatchUses uses = MatchUses::kClosed);

}  // namespace wootz
