#include "backend/pack_constants.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"

namespace wootz {
namespace {

// What the kernel's version of the library wants of input 1; nothing: the values as they are.
struct Wanted {
  std::optional<uint32_t> version;
  size_t bytes = 0;
};

class PackingProvider final : public Provider {
 public:
  explicit PackingProvider(Wanted wanted) : wanted_(wanted) {}
  const char* name() const override { return "packing"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic&, const Problem&, const Limits&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<PackingKernel>(wanted_));
  }

 private:
  struct PackingKernel final : Kernel {
    explicit PackingKernel(Wanted wanted) : wanted(wanted) {}
    Result<std::optional<PackedForm>> pack(int input, const HostTensor&) const override {
      if (input != 1 || !wanted.version) return std::optional<PackedForm>{};
      return std::optional(packed_by(
          wanted.bytes, [n = wanted.bytes]() -> Result<std::vector<std::byte>> { return std::vector<std::byte>(n); },
          *wanted.version));
    }
    Result<std::unique_ptr<Call>> bind(const BindArgs&) const override { return unsupported("nothing to bind"); }
    Wanted wanted;
  };
  Wanted wanted_;
};

// y = x by the constant w, built by a library whose kernels want that.
Program built(Wanted wanted) {
  static const std::vector<float> kValues{1, 2, 3, 4};
  Program p;
  p.exprs = {{ShapeOp::kConst, 4, {}}};
  PlanConstant w;
  w.name = "w";
  w.dtype = DType::kF32;
  w.dims = {4};
  w.bytes = 16;
  w.data = kValues.data();
  p.constants.push_back(w);
  Step step;
  step.name = "s";
  step.tactic = {"packing", "k", ""};
  for (const TensorKind kind : {TensorKind::kInput, TensorKind::kConstant, TensorKind::kOutput}) {
    PlanTensor t;
    t.dtype = DType::kF32;
    t.kind = kind;
    t.dims = {0_expr};
    if (kind == TensorKind::kConstant) t.constant = 0_constant;
    p.tensors.push_back(t);
    TensorDesc d;
    d.dtype = DType::kF32;
    d.dims = d.max_dims = {4};
    d.constant = kind == TensorKind::kConstant;
    (kind == TensorKind::kOutput ? step.problem.outputs : step.problem.inputs).push_back(d);
  }
  step.inputs = {0_tensor, 1_tensor};
  step.outputs = {2_tensor};
  p.steps.push_back(step);
  const PackingProvider provider(wanted);
  KernelCache kernels({&provider}, {});
  EXPECT_TRUE(pack_constants(&p, kernels).ok());
  return p;
}

// That program, loaded by a library whose kernels want something else.
Status loaded(const Program& p, Wanted wanted) {
  const PackingProvider provider(wanted);
  KernelCache kernels({&provider}, {});
  const Step& step = p.steps[0_step];
  const Result<std::shared_ptr<const Kernel>> kernel = kernels.get(step);
  return kernel.ok() ? check_forms(p, step, **kernel) : kernel.status();
}

TEST(PackConstants, PlansOfOtherFormsAreRefused) {
  const Wanted first{0, 64}, second{1, 64}, longer{1, 128}, none{};
  for (const Wanted& wanted : {first, second, longer, none}) {
    const Program p = built(wanted);
    EXPECT_EQ(p.constants.size(), 1u);
    EXPECT_EQ(p.constants[0_constant].form_version, wanted.version.value_or(0));
    for (const Wanted& wants : {first, second, longer, none}) {
      const Status status = loaded(p, wants);
      const bool same = wants.version == wanted.version && wants.bytes == wanted.bytes;
      EXPECT_EQ(status.ok(), same) << status.to_string();
      if (same) continue;
      EXPECT_EQ(status.code(), Code::kUnsupported);
      EXPECT_NE(status.message().find("weights 'w'"), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("build it again"), std::string::npos) << status.message();
    }
  }
  EXPECT_EQ(
      loaded(built(first), second).message(),
      "weights 'w' are packed in form 0 (64 bytes), and packing:k reads them packed in form 1 (64 bytes): the plan "
      "was built by another version of the library; build it again");
}

}  // namespace
}  // namespace wootz
