// What the benchmark of kernels measured, as text and as JSON.
#pragma once

#include <string>
#include <vector>

namespace wootz::kernels {

struct Measured {
  std::string backend, problem, kernel, layout;
  double us = 0, spread = 0;     // median, and half the distance between the quartiles relative to it
  double bytes = 0, flops = -1;  // of one run; flops -1: unknown
  bool line = false;             // of a table; otherwise a library's
  std::string failure;           // not empty: it did not run
  double gb_per_s() const { return us > 0 ? bytes / us * 1e-3 : 0; }
  double gflop_per_s() const { return us > 0 && flops > 0 ? flops / us * 1e-3 : 0; }
};

// One problem's, the fastest first.
void print(const std::string& problem, std::vector<Measured> rows);
std::string to_json(const std::vector<Measured>& rows);

}  // namespace wootz::kernels
