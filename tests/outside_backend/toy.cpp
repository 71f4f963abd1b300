#include "outside_backend/toy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace wootz_test {
namespace {

using namespace wootz;  // NOLINT: implements its interfaces

struct Counters {
  std::atomic<long> allocations{0}, products{0};
};
constexpr size_t kDevices = 2;
std::array<Counters, kDevices> g_counters;

class ToyDevice final : public Device {
 public:
  explicit ToyDevice(int number) : number_(number) {
    description_.backend = "toy";
    description_.name = "a toy";
    description_.isa = "toy1";
  }
  const DeviceDescription& describe() const override { return description_; }
  int number() const override { return number_; }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    ++g_counters[static_cast<size_t>(number_)].allocations;
    const size_t unit = std::max<size_t>(alignment, 64);
    void* const memory = std::aligned_alloc(unit, (bytes / unit + 1) * unit);
    if (memory == nullptr) return make_error(Code::kResourceExhausted, "{} bytes", bytes);
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes, Stream*) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return Status();
  }
  Result<std::unique_ptr<Stream>> create_stream() override { return unsupported("a toy has no streams"); }

 private:
  int number_;
  DeviceDescription description_;
};

class Product final : public Call {
 public:
  Product(int64_t m, int64_t n, int64_t k, int device) : m_(m), n_(n), k_(k), device_(device) {}
  Status run(const RunArgs& args) const override {
    ++g_counters[static_cast<size_t>(device_)].products;
    const auto* a = static_cast<const float*>(args.inputs[0]);
    const auto* w = static_cast<const float*>(args.inputs[1]);
    auto* y = static_cast<float*>(args.outputs[0]);
    for (int64_t i = 0; i < m_; ++i)
      for (int64_t j = 0; j < n_; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k_; ++l) sum += a[i * k_ + l] * w[l * n_ + j];
        y[i * n_ + j] = sum;
      }
    return Status();
  }

 private:
  int64_t m_, n_, k_;
  int device_;
};

class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (device_ == nullptr) return unsupported("no toy is at hand");
    const Dims &a = args.inputs[0], &w = args.inputs[1];
    return std::unique_ptr<Call>(std::make_unique<Product>(a[0], w[1], a[1], device_->number()));
  }

 private:
  std::shared_ptr<Device> device_;
};

bool is_plain_product(const Problem& p) {
  if (p.family() != Family::kGemm || p.inputs.size() != 2 || p.outputs.size() != 1 || !p.epilogue.empty()) return false;
  const auto& gemm = p.as<GemmParams>();
  const auto is_matrix = [](const TensorDesc& t) { return t.dtype == DType::kF32 && t.dims.rank() == 2; };
  return !gemm.trans_a && !gemm.trans_b && gemm.alpha == 1 && is_matrix(p.inputs[0]) && is_matrix(p.inputs[1]) &&
         is_matrix(p.outputs[0]);
}

class ToyProvider final : public Provider {
 public:
  const char* name() const override { return "toy"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.family() != Family::kGemm) return;
    if (!is_plain_product(problem)) return refusals->push_back({"toy_product", "not a product of two plain matrices"});
    Candidate c;
    c.tactic = {name(), "toy_product", ""};
    c.input_layouts.assign(2, Layout::kLinear);
    c.output_layouts.assign(1, Layout::kLinear);
    c.estimate_us = 1;
    offers->push_back(std::move(c));
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic&, const Problem& problem, const Limits& limits) const override {
    if (!is_plain_product(problem)) return invalid_argument("not a product of two plain matrices");
    return std::unique_ptr<Kernel>(std::make_unique<ProductKernel>(limits.at));
  }
};

class ToyBackend final : public Backend {
 public:
  ToyBackend() : Backend("toy", {}) {}
  Result<std::shared_ptr<Device>> open(int number) const override {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<DeviceDescription> all, devices());
    WOOTZ_RETURN_IF_ERROR(check_device_number(name, all, number));
    return std::shared_ptr<Device>(std::make_shared<ToyDevice>(number == kCurrentDevice ? 0 : number));
  }
  Result<std::vector<DeviceDescription>> devices() const override {
    return std::vector<DeviceDescription>(kDevices, ToyDevice(0).describe());
  }
  std::vector<const Provider*> providers() const override {
    static const ToyProvider provider;
    return {&provider};
  }
};

}  // namespace

const Backend& toy_backend() {
  static const ToyBackend backend;
  return backend;
}

ToyCounts toy_counts(int device) {
  const Counters& c = g_counters[static_cast<size_t>(device)];
  return {c.allocations, c.products};
}

}  // namespace wootz_test
