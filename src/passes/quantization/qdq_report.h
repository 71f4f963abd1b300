// What became of each Quantize and Dequantize of a model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

struct QdqLine {
  std::string node;  // the model's name for it
  std::string kind;  // Quantize, Dequantize
  // fused: part of `step`. folded: its result is a constant. removed: it met its inverse, or is not read.
  // kept: a step of its own.
  std::string fate;
  std::string step;    // the step that does it; empty where none does
  std::string reason;  // why it is kept; of the others, how it came to its fate
  double us = 0;       // what it costs: the time of a step of its own, else 0
};

// Follows the nodes through the passes by their provenance: made before the first pass, called after each pass, asked
// at the end.
class QdqRecorder {
 public:
  explicit QdqRecorder(const Graph& graph);
  void after_pass(std::string_view pass, const Graph& graph);
  // `step` of a line is the name of a node of the graph that is left.
  std::vector<QdqLine> lines(const Graph& graph) const;

 private:
  struct Entry {
    QdqLine line;
    bool of_constant = false;
    std::set<std::string> neighbours;  // what stood before a quantize, after a dequantize
    std::string moved_past;
    std::string why_kept;
    bool relaxed = false;  // an addition takes what it would have rounded
  };
  void note_relaxed(const std::set<std::string>& left);
  std::vector<Entry> entries_;
  std::map<std::string, std::vector<size_t>> by_name_;
  std::set<std::string> left_;  // names of those that the graph still has
};

// One line of text each, for logs.
std::string to_string(const QdqLine& line);

}  // namespace wootz
