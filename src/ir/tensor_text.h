// The bytes of constants as text: [1, 2], splat(0), hex"00ff". Part of the text form (ir/text.h).
#pragma once

#include <string>

#include "base/tensor.h"
#include "ir/scanner.h"

namespace wootz {

// Readable where that is short and exact, hexadecimal bytes otherwise.
std::string print_tensor_data(const HostTensor& tensor);

// What print_tensor_data() wrote, for a tensor of that type and shape. Splats take their bytes from *splat_budget.
Result<HostTensor> parse_tensor_data(Scanner& in, DType dtype, const Dims& dims, size_t* splat_budget);

// A float with a point, an exponent, or as inf or nan: never to be taken for an integer. Shortest text that reads back
// exactly.
std::string print_float(double value);

}  // namespace wootz
