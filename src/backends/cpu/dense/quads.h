// Products and convolutions of the kind of quads_pack.h.
#pragma once

#include "backend/quantized.h"
#include "backends/cpu/dense/quads_pack.h"

namespace wootz::cpu {

int64_t quads_panel(Isa isa);
// What is added to a value of this type as it is read by quads, to make it the number that is meant.
int32_t quads_offset(const Problem& problem, const GemmScales& scales);
Result<std::unique_ptr<Call>> make_quads_call(const Problem& problem, const KernelOptions& options,
                                              const Epilogue& epilogue, const DenseShape& shape,
                                              const GemmScales& scales, std::unique_ptr<DenseRows<uint8_t>> rows,
                                              const BindArgs& args);
double quads_cost_us(const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
