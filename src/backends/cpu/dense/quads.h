// Products and convolutions of the kinds of quads_pack.h and of crossed_tile.cpp.
#pragma once

#include "backend/quantized.h"
#include "backends/cpu/dense/quads_pack.h"

namespace wootz::cpu {

// `dots`: kQuads or kCrossed.
const QuadsForm& quads_form(Dots dots, Isa isa);
// What is added to a value of this type as it is read by quads, to make it the number that is meant.
int32_t quads_offset(const Problem& problem, const GemmScales& scales);
Result<std::unique_ptr<Call>> make_quads_call(Dots dots, const Problem& problem, const KernelOptions& options,
                                              const Epilogue& epilogue, const DenseShape& shape,
                                              const GemmScales& scales, std::unique_ptr<DenseRows<uint8_t>> rows,
                                              const BindArgs& args);
double quads_cost_us(Dots dots, const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
