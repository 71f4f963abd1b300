#include <algorithm>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {

PackedForm transposed_form(const HostTensor& source, int64_t rows, int64_t columns) {
  const auto make = [source, rows, columns](std::span<std::byte> to) {
    const size_t size = dtype_bytes(source.dtype(), 1);
    const auto* from = static_cast<const std::byte*>(source.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::copy_n(from + static_cast<size_t>(r * columns + c) * size, size,
                    to.data() + static_cast<size_t>(c * rows + r) * size);
    return Status();
  };
  return {source.bytes(), make};
}

}  // namespace wootz::cuda
