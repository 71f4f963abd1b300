// The numbers in a generated kernel's source as arguments: what is bound to extents that soon will be others (the count
// of boxes that one image has) need not be compiled for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wootz::cuda {

struct Lifted {
  std::string source;
  std::vector<int64_t> numbers;  // arguments of type s64 behind the kernel's own, in order
};
// Whole numbers from 2 on in the body of wootz_kernel, each with the type that it had as a literal. Those that the
// compiler must know stay: template arguments, extents of arrays, `#` lines, constexpr. At most `most` become
// arguments; where there are more, the source stays as it is.
Lifted lift_numbers(const std::string& source, size_t most);

}  // namespace wootz::cuda
