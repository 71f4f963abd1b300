// Program to and from the metadata section.
#pragma once

#include <vector>

#include "backend/program.h"

namespace wootz {

// Where each constant, and after them each piece of machine code, lies in the weights section.
struct WeightsMap {
  std::vector<size_t> offsets;  // by constant
  std::vector<uint8_t> shared;  // by constant: its bytes are those of one before it. Empty: none are
  std::vector<size_t> native;   // by piece of machine code
  std::vector<WeightsMap> bodies;
  // By constant of the recipe for refits. One that has the bytes of a constant of the program is where that is, and a
  // stripped one is nowhere.
  std::vector<size_t> refit;
  std::vector<uint8_t> refit_shared;
  size_t total = 0;  // a multiple of the blob alignment
};
Result<WeightsMap> place_weights(const Program& program);

// FlatBuffers bytes. Equal programs give equal bytes. Error: more than plan_limits::kMaxMetadataBytes.
Result<std::vector<std::byte>> encode_program(const Program& program, const WeightsMap& weights);

// The reverse. `metadata` is aligned for FlatBuffers and comes from anywhere; the result's constants point into
// `weights`, without owner. Structure only: verify_program is the caller's next step.
Result<Program> decode_program(std::span<const std::byte> metadata, std::span<const std::byte> weights);

}  // namespace wootz
