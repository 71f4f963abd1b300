// Bounds on what a plan may hold, beside those of base/limits.h. A refusal names the limit it hit. They keep everything
// that is done with a verified plan (sizes, lifetimes, memory plan) within memory and time that a file of its size
// could honestly ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wootz::plan_limits {

inline constexpr size_t kMaxExprs = size_t{1} << 20;
inline constexpr size_t kMaxExprOperands = 4096;  // of one expression
inline constexpr size_t kMaxSymbols = size_t{1} << 16;
inline constexpr size_t kMaxTensors = size_t{1} << 20;
inline constexpr size_t kMaxConstants = size_t{1} << 20;
inline constexpr size_t kMaxSteps = size_t{1} << 18;
inline constexpr size_t kMaxProvenance = size_t{1} << 16;  // names of one step's origins
inline constexpr size_t kMaxBodies = size_t{1} << 16;      // of one program, or of one of its bodies
inline constexpr int kMaxBodyDepth = 32;                   // bodies within bodies
inline constexpr size_t kMaxViewDepth = 256;               // views of views
inline constexpr size_t kMaxTextBytes = size_t{1} << 28;   // one text that is not a name: node, tactic config, property
inline constexpr size_t kMaxProperties = 4096;
inline constexpr size_t kMaxNative = size_t{1} << 18;         // pieces of machine code
inline constexpr size_t kMaxMetadataBytes = size_t{1} << 30;  // everything but the weights
inline constexpr size_t kMaxBlobBytes = size_t{1} << 48;      // one packed weight, one workspace
inline constexpr size_t kMaxRuntimeBytes = size_t{1} << 30;   // of the runtime in a version-compatible plan
inline constexpr size_t kMaxRuntimeFiles = 16;
inline constexpr size_t kMaxArenaBytes = size_t{1} << 62;  // all activations of a static program

}  // namespace wootz::plan_limits
