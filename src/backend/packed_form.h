// A constant in the form of a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/raw_bytes.h"
#include "base/status.h"

namespace wootz {

// The size is known at once; the bytes are made when they are wanted, one weight after the other: all weights of a
// network may not fit into memory a second time.
struct PackedForm {
  size_t bytes = 0;
  // Writes all of them, from any thread and any number of times, as long as the kernel and the source live.
  std::function<Status(std::span<std::byte>)> make;
  // Raised whenever the kernel comes to want other bytes of the same source: plans record it, and one that holds the
  // bytes of another version is refused. tests/kernels/packed.forms says what each version's bytes are.
  uint32_t version = 0;
};

// A form whose bytes `pack` makes in memory of its own. Error of make: `pack` made another number of bytes.
PackedForm packed_by(size_t bytes, std::function<Result<std::vector<std::byte>>()> pack, uint32_t version = 0);

// `room` is memory to make them in.
Result<RawBytes> make_bytes(const PackedForm& form, RawBytes room = {});

}  // namespace wootz
