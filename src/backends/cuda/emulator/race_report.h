// What a search for races found, with the lines of the kernels' source.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace wootz::cuda {

class RaceReport {
 public:
  // `places`: of instructions in the library that the kernel was compiled to. Each set of places is reported once.
  void add(const std::string& library, const std::vector<long>& places, const std::string& what);
  std::string take();

 private:
  std::set<std::string> seen_;
  std::string text_;
};

}  // namespace wootz::cuda
