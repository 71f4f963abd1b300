// A kernel file with its problem: what is written in front of the file, as names that the file uses, and the entry
// behind it that calls the file's function `kernel(const Operands& p, const Constants& c)`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

inline constexpr int kBlock = 256;  // threads of a block, of most kernels

// Bound to other extents than it is tuned for: those that one run found and the next need not have, or others of a
// profile than its optimum.
bool transient(const Problem& problem, const BindArgs& args);

// Operands at kVector neighbours: lines that read them, and the source of each at neighbour k.
struct VectorReads {
  std::string lines;
  std::vector<std::string> inputs;
};
// `axes` are counted in vectors; `names`: of all operands that walk them. Those from `first` on are read where the
// variable `at` says, which is of the walk's type, and are the inputs from `input` on.
VectorReads vector_reads(const Problem& problem, size_t input, const std::vector<Axis>& axes,
                         const std::vector<std::string>& names, size_t first, std::string_view at);

class KernelSource {
 public:
  // `file`: below kernels/. `arguments`: numbers become arguments of the kernel, so that other extents find the same
  // machine code.
  KernelSource(std::string_view file, bool arguments);

  // typedef `type` `name`;
  void type(std::string_view name, std::string_view type);
  // The same of a struct that the file defines.
  void choice(std::string_view name, std::string_view choice);
  // constexpr int `name`: what the compiler must know (extents of arrays, template arguments, what is unrolled).
  void fixed(std::string_view name, int64_t value);
  void fixed_real(std::string_view name, double value);  // a double
  // Member `name` of Constants, an int or s64 as `value` needs; `type`: that one in any case. 0 and 1 are known to the
  // compiler always: code has another shape for them.
  void number(std::string_view name, int64_t value, const char* type = nullptr);
  // An s64 that is an argument always: what differs from launch to launch.
  void argument(std::string_view name, int64_t value);
  // A function of the index k, among the parameters of `declaration`: value k, an expression each. For loops over axes
  // that the compiler unrolls.
  void pick(std::string_view declaration, const std::vector<std::string>& values);
  // <int or s64> `name`(c, k): value k, a number each.
  void list(std::string_view name, const std::vector<int64_t>& values);
  // Member `name` of Operands, a pointer declared as `type`: "f16* __restrict__", "const f16*". What is read is not
  // restricted: the compiler takes such memory for constant while the kernel runs, and would read it ahead of the wait
  // for the kernel that makes it (griddepcontrol.wait), which no clobber of an asm prevents.
  void operand(std::string_view type, std::string_view name, Pointer pointer);
  // Member `name` of Operands, a `const TensorMap*`: the operand as the unit for tensors copies it.
  void view(std::string_view name, Pointer pointer, TensorView view);
  // The operands of the problem's epilogue, "e1" and on.
  void epilogue_operands(const Problem& problem, int after = 0);
  // struct `Type` { int names...; } and Type `function`(c, index): the offset of each operand at element `index` of the
  // axes. s64 where int is too small.
  void walk(std::string_view type, std::string_view function, const std::vector<Axis>& axes,
            const std::vector<std::string>& names);
  // <stored> epilogue(p, c, <register type of `type`> f, `parameters`): the problem's expression on f, as it is stored.
  // `offsets`: of the operands, in terms of the parameters. Of an expression with two results also second(), alike.
  Status epilogue(const Problem& problem, DType type, std::string_view parameters,
                  const std::vector<std::string>& offsets);
  // Pack<Y, kVector> results(p, c, `parameters`): an expression on kVector neighbours, as they are stored. `reads`:
  // lines before the loop over them; `inputs`: the expression's operands at neighbour k.
  Status results(const PointwiseExpr& expr, std::string_view parameters, const std::string& reads,
                 const std::vector<std::string>& inputs, const ExpressionRules& rules = {});
  // Declarations that depend on more than numbers, after all of the above that were given before.
  void code(std::string_view declarations) { code_ += declarations; }

  // The launch of so many blocks. Errors: too many of them.
  Status finish(int threads, int64_t blocks, std::vector<Launch>* launches, size_t workspace = 0);
  Status finish(const LaunchSize& size, std::vector<Launch>* launches, size_t workspace = 0);

 private:
  struct Number {
    std::string name, type;
    int64_t value;
    bool always = false;  // an argument
    bool is_argument(bool arguments) const;
  };
  struct Operand {
    std::string type, name;
  };
  std::string text(bool arguments, const LaunchSize& size) const;

  std::string file_;
  bool arguments_;
  std::vector<Number> numbers_;
  std::vector<Operand> operands_;
  std::vector<Pointer> pointers_;
  std::vector<TensorView> views_;
  std::string types_, code_;
};

}  // namespace wootz::cuda
