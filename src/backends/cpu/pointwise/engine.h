// The engine for everything pointwise: the body of pointwise steps and the epilogues of our other kernels.
//
// compile() turns an expression into loops over short blocks that stay in the first-level cache; bind() fixes extents
// and layouts; run() computes a range of the outputs, in the order in which they lie in memory. A kernel with an
// epilogue computes a tile of its own result and hands it over as the operand `tile`.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "backend/problem.h"
#include "backends/cpu/pointwise/ops.h"
#include "base/status.h"

namespace wootz::cpu {

// Where an instruction's value is.
struct PwSlot {
  enum Kind : uint8_t { kNone, kOperand, kRegister, kOutput } kind = kNone;
  uint16_t index = 0;
};
struct PwStep {
  OpFn fn;
  PwSlot dst, a, b, c;
  double imm0 = 0, imm1 = 0;
};

class PointwiseCode {
 public:
  static constexpr size_t kMaxOperands = 64;

  // `tile`: the operand that comes in its register type whatever the expression calls it (a narrow float as f32); or
  // -1. Errors: an operation or type that the engine does not have (it says which), too many operands.
  static Result<std::shared_ptr<const PointwiseCode>> compile(const PointwiseExpr& expr, Isa isa, int tile = -1);

  struct Operand {
    uint16_t input;  // number in the expression
    DType dtype;
    int bytes;
  };
  struct Constant {
    uint16_t reg;
    uint64_t bits;  // one element
  };
  std::vector<Operand> operands;
  std::vector<Constant> constants;
  std::vector<int> register_bytes;  // element size of each register
  std::vector<DType> output_types;
  std::vector<PwStep> steps;
  double cost_ns = 0;  // per element, roughly
};

// A tensor as the engine sees it.
struct PwView {
  DType dtype = DType::kInvalid;
  Layout layout = Layout::kLinear;
  Dims dims;
};

// Errors: an operand of the expression that is not in the output's blocks of channels would be read by such blocks, and
// how many channels there are is only known when it runs: bind() refuses what does not fill the last block.
Status check_channels_that_vary(const Problem& problem);

// `count` rows of `length` elements from element `first` of an output on, which begin `stride` apart.
struct PwRows {
  int64_t first, stride, count, length;
};

// Of the loop nest over an output as it lies in memory. A blocked channel axis appears twice: blocks and lanes.
struct PwAxis {
  int logical;  // dimension of the output
  int64_t extent;
  int64_t step;  // of the logical index for one step of this axis
};

class BoundPointwise {
 public:
  // `inputs` by operand number of the expression (those that it does not read may be anything); every operand
  // broadcasts to `output`, the view of all outputs. `tile`: the operand that is given as a tile to run(), contiguous
  // and in the output's order; or -1. Errors: shapes that do not broadcast, types or layouts that do not agree.
  static Result<BoundPointwise> bind(std::shared_ptr<const PointwiseCode> code, std::span<const PwView> inputs,
                                     const PwView& output, int tile = -1);

  // Elements of an output as it lies in memory (padded channels of blocked layouts included).
  int64_t size() const { return size_; }
  // How many elements are worth a thread.
  int64_t grain() const { return grain_; }
  // Computes [begin, end). Pointers are to the tensors' starts; `tile` points to the element at `begin`. Thread-safe;
  // no allocation: about 64 KiB of stack.
  void run(int64_t begin, int64_t end, const void* const* inputs, void* const* outputs,
           const void* tile = nullptr) const;
  // The same of rows, which are side by side in the tile.
  void run_rows(const PwRows& rows, const void* const* inputs, void* const* outputs, const void* tile) const;
  // Blocked layouts: writes zeros where the channels beyond the real ones lie. Nothing otherwise.
  void clear_padding(void* const* outputs) const;

 private:
  static constexpr int kMaxDims = limits::kMaxRank + 1;  // a blocked channel counts as two
  static constexpr size_t kScratchBytes = 56 * 1024;
  enum class Access : uint8_t {
    kFull,      // element i is at base + i
    kScalar,    // one element
    kPeriodic,  // element i is at base + i % period
    kStrided,   // by strides
  };
  struct Input {
    Access access = Access::kFull;
    bool tile = false;
    int64_t period = 0;
    std::array<int64_t, kMaxDims> strides{};
    size_t buffer = 0;  // offset in the scratch memory where gathered elements go
  };
  struct Frame;

  // The steps of bind().
  Status read_operands(const PointwiseCode& code, std::span<const PwView> inputs, const PwView& output, int tile,
                       const std::vector<PwAxis>& axes, std::vector<std::vector<int64_t>>* strides);
  void merge_axes(const std::vector<PwAxis>& axes, const std::vector<std::vector<int64_t>>& strides);
  void choose_accesses();
  Status lay_out_scratch(const PointwiseCode& code);
  void find_padding(const PwView& output);

  void only_step(int64_t begin, int64_t end, const void* const* inputs, void* const* outputs, const void* tile) const;
  bool gathered_rows(const PwRows& rows, void* const* outputs, const char* from) const;
  void row_block(Frame* frame, int64_t begin, int64_t n) const;
  const char* strided_block(Frame* frame, size_t operand, int64_t begin, int64_t n) const;
  void gather(const Input& input, int bytes, const char* base, int64_t begin, int64_t n, void* to) const;
  int64_t offset_of(const Input& input, int64_t index) const;

  std::shared_ptr<const PointwiseCode> code_;
  std::vector<Input> inputs_;      // by operand of the code
  std::vector<size_t> registers_;  // offsets in the scratch memory
  std::array<int64_t, kMaxDims> dims_{};
  int rank_ = 0;
  int64_t size_ = 0, block_ = 0, grain_ = 1;
  bool long_rows_ = false;  // blocks do not cross the ends of innermost rows
  bool one_step_ = false;   // from operands as they lie to an output: no blocks
  bool of_tile_ = false;    // which reads the tile alone, and that once
  struct Padding {
    int64_t outer = 0, inner = 0;  // batch x spatial positions
    int64_t stride = 0;            // elements of a batch entry
    int64_t first = 0;             // of the last channel block, in a batch entry
    int block = 0, used = 0;
  } padding_;
};

}  // namespace wootz::cpu
