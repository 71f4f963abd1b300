// Every bound on what we accept from outside, in one place. A refusal names the limit it hit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wootz::limits {

inline constexpr int kMaxRank = 8;                         // as in the public API
inline constexpr int64_t kMaxNodes = 1'000'000;            // nodes of a graph, subgraphs and inlined functions included
inline constexpr int kMaxInputsPerNode = 65'536;
inline constexpr int kMaxSubgraphDepth = 64;
inline constexpr int kMaxFunctionDepth = 100;
inline constexpr int kMaxFunctions = 10'000;
inline constexpr size_t kMaxNameBytes = 64 * 1024;
inline constexpr size_t kMaxFoldedBytes = size_t{1} << 28; // one folded constant
inline constexpr int64_t kMaxFoldLoopTrips = 100'000;      // Loop iterations while folding
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // elements of one tensor
inline constexpr int64_t kMaxShapeValues = 4096;           // elements of a tracked shape tensor
inline constexpr int kMaxExprInstructions = 256;           // one pointwise expression
inline constexpr int kMaxProfiles = 256;

}  // namespace wootz::limits
