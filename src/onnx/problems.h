// The problems of one import.
#pragma once

#include <vector>

#include "onnx/import_problem.h"

namespace wootz::importer {

class Problems {
 public:
  explicit Problems(size_t keep) : keep_(keep) {}
  void add(ImportProblem problem);
  size_t count() const { return count_; }
  std::vector<ImportProblem>& list() { return list_; }
  // Forgets those added since there were so many, of which so many were listed.
  void forget(size_t count, size_t listed);
  // Ok when there are none; else how many, and the first few.
  Status summary() const;

 private:
  size_t keep_;
  size_t count_ = 0;
  std::vector<ImportProblem> list_;
};

}  // namespace wootz::importer
