// Every bound on what we accept from outside, in one place. A refusal names the limit it hit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wootz::limits {

inline constexpr int kMaxRank = 8;               // as in the public API
inline constexpr int64_t kMaxNodes = 1'000'000;  // nodes of a graph, subgraphs and inlined functions included
inline constexpr int kMaxInputsPerNode = 65'536;
inline constexpr int kMaxSubgraphDepth = 64;
inline constexpr int64_t kMaxLoopTrips = int64_t{1} << 32;  // of one Loop while running
inline constexpr int kMaxFunctionDepth = 100;
inline constexpr int kMaxFunctions = 10'000;
inline constexpr int64_t kMaxInlinedBytes = int64_t{1}
                                            << 30;  // sum over function calls of the message size of their bodies
inline constexpr size_t kMaxNameBytes = 64 * 1024;
inline constexpr size_t kMaxExternalPathBytes = 4096;  // location of a tensor's external data
inline constexpr size_t kMaxModelBytes = 0x7fffffff;   // one ONNX message; larger models keep their weights in files
inline constexpr int kMaxAttributesPerNode = 65'536;
inline constexpr size_t kMaxFoldedBytes = size_t{1} << 28;       // one folded constant
inline constexpr size_t kMaxImportFoldBytes = 64 * 1024;         // one constant folded while importing
inline constexpr int64_t kMaxImportFoldCost = int64_t{1} << 24;  // products of element counts: one node while importing
inline constexpr int64_t kMaxImportFoldTotal = int64_t{1} << 31;     // and the whole model
inline constexpr size_t kMaxImportFoldTotalBytes = size_t{1} << 28;  // bytes of all constants folded while importing
inline constexpr int64_t kMaxTrackedShapeValues = int64_t{1}
                                                  << 24;   // elements of all tracked shape tensors of an import
inline constexpr int64_t kMaxFoldLoopTrips = 100'000;      // Loop iterations while folding
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // elements of one tensor
inline constexpr int64_t kMaxShapeValues = 4096;           // elements of a tracked shape tensor
inline constexpr int kMaxExprInstructions = 256;           // one pointwise expression
inline constexpr int kMaxProfiles = 256;

}  // namespace wootz::limits
