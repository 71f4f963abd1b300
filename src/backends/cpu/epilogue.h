// The end of our kernels: from a tile of the family's own result (in a register type of the engine) to the output,
// through the problem's epilogue or, without one, by a conversion.
#pragma once

#include "backend/kernel.h"
#include "backends/cpu/pointwise/engine.h"

namespace wootz::cpu {

// The type in which a kernel keeps its result for an output of `type`: f32 for the narrow floats.
inline DType tile_type(DType type) { return register_type(type); }

class Epilogue {
 public:
  // `tile`: the type of the tiles that the kernel will give. Errors: what the epilogue reads or gives does not fit.
  static Result<Epilogue> make(const Problem& problem, DType tile, Isa isa);

  class Bound {
   public:
    // The (first) output is the kernel's own result, in the tile's type: the kernel may compute into it.
    bool direct() const { return direct_; }
    // Then nothing is to be done. Otherwise store() makes the other output, of a tile that may be in the first one.
    bool trivial() const { return trivial_; }
    // Elements of the output as they lie in memory.
    int64_t size() const { return bound_.size(); }
    // Stores elements [begin, begin + n) of the output's order in memory, from the tile.
    void store(int64_t begin, int64_t n, const void* tile, const RunArgs& args) const {
      bound_.run(begin, begin + n, args.inputs + first_, args.outputs + stored_, tile);
    }
    // The same of rows that lie apart in the output, and one after the other in the tile.
    void store_rows(const PwRows& rows, const void* tile, const RunArgs& args) const {
      bound_.run_rows(rows, args.inputs + first_, args.outputs + stored_, tile);
    }

   private:
    friend class Epilogue;
    BoundPointwise bound_;
    ptrdiff_t first_ = 0;  // operand k > 0 of the expression is input first_ + k of the step
    bool direct_ = false, trivial_ = false;
    ptrdiff_t stored_ = 0;  // the first output that store() makes
  };
  bool direct() const { return direct_; }
  // Extents as in Kernel::bind.
  Result<Bound> bind(const Problem& problem, const BindArgs& args) const;

 private:
  std::shared_ptr<const PointwiseCode> code_;
  bool direct_ = false, trivial_ = false;
};

}  // namespace wootz::cpu
