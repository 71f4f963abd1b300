// What is asked of cuDNN, as plain data, and for which device.
#pragma once

#include <string>
#include <vector>

#include "backend/device.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/support/epilogue_stages.h"

namespace wootz::cuda {

struct CudnnTensor {
  bool output = false;
  int index = 0;  // of the step's inputs or outputs
  DType dtype = DType::kF32;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;  // bytes from the address of the step's operand
  bool made = false;   // of the epilogue's operands: by another step, rather than constant
};

struct CudnnStage {
  PwOp op = PwOp::kAdd;
  int operand = -1;  // index into CudnnGraph::operands, for kAdd and kMul
  double imm0 = 0, imm1 = 0;
  int factor = -1;  // index of what the operand, in i8, is multiplied by first
};

// y = stages(convolution(x, w)), or y = stages(attention(q, k, v)). A convolution in i8 is summed in i32; its first
// stage brings that to f32.
struct CudnnGraph {
  bool attention = false;
  CudnnTensor x, w, v, y;  // attention: q, k, v
  std::vector<CudnnTensor> operands;
  std::vector<CudnnStage> stages;
  std::vector<int64_t> pre_pads, post_pads, strides, dilations;
  double scale = 1;
  bool causal = false;
  int mask = -1;  // operand added to the scores, -1: none
  bool tf32 = false;
  bool int8() const { return x.dtype == DType::kI8; }
  std::string key() const;  // equal graphs have equal keys
};

// Whom something is built for: a GPU at hand, or a device that is described.
struct CudnnTarget {
  CudnnTarget(const Gpu& at_hand) : gpu(&at_hand) {}                    // NOLINT: either is a target
  CudnnTarget(const DeviceDescription& device) : described(&device) {}  // NOLINT
  const Gpu* gpu = nullptr;
  const DeviceDescription* described = nullptr;
};

}  // namespace wootz::cuda
