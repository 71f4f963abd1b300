// Indices outside of their axis: a launch cannot fail for them, so that they read as zeros, the same in every kernel
// that gathers rows. Some rows of the first run lie outside; in the second they are rows of zeros of a longer table.
#include <algorithm>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

class CudaIndices : public OnCuda {
 protected:
  // `body`: what follows of the rows %r, as %y, all of it in so many steps.
  void check(const std::string& body, const Dims& rows, size_t steps) {
    const int64_t table = 11, length = rows.back();
    HostTensor outside = HostTensor::allocate(DType::kI64, {rows[0], rows[1]}).value();
    HostTensor inside = HostTensor::allocate(DType::kI64, {rows[0], rows[1]}).value();
    for (int64_t i = 0; i < outside.volume(); ++i) {
      const int64_t wrong[] = {table, -table - 1, INT64_MAX, INT64_MIN, 1000};
      outside.set_i64(i, i % 3 == 1 ? wrong[i / 3 % 5] : i % table);
      inside.set_i64(i, i % 3 == 1 ? table : i % table);
    }
    HostTensor shorter = random_tensor(DType::kF16, {table, length}, seed_).value();
    HostTensor longer = HostTensor::allocate(DType::kF16, {table + 1, length}).value();
    for (int64_t i = 0; i < longer.volume(); ++i) longer.set_f64(i, i < shorter.volume() ? shorter.get_f64(i) : 0);
    const RunResult a = run(body, rows, shorter, outside), b = run(body, rows, longer, inside);
    ASSERT_FALSE(a.outputs.empty() || b.outputs.empty());
    EXPECT_EQ(a.steps, steps);
    size_t different = 0;
    for (int64_t i = 0; i < a.outputs[0].volume(); ++i)
      different += a.outputs[0].get_f64(i) != b.outputs[0].get_f64(i) ? 1 : 0;
    EXPECT_EQ(different, 0U);
  }

  RunResult run(const std::string& body, const Dims& rows, const HostTensor& table, const HostTensor& indices) {
    const std::unique_ptr<Graph> graph = parsed(fmt::format(
        "graph \"g\" {{ %i: i64[{},{}] = input; %w: f16[{},{}] = input; %r = Gather(%w, %i) {{axis = 0}}; {} "
        "return %y; }}",
        rows[0], rows[1], table.dims()[0], rows[2], body));
    if (graph == nullptr) return {};
    return run_on("cuda", *graph, {indices, table});
  }
};

TEST_F(CudaIndices, OutsideReadAsZeros) {
  for (const int64_t length : {24, 33}) {
    const Dims rows{3, 7, length};
    SCOPED_TRACE(length);
    check("%y = Identity(%r);", rows, 1);
    check(fmt::format("%p: f16[{}] = const splat(0.5); %y = Add(%r, %p);", length), rows, 1);
    check("%y = LayerNorm(%r) {axis = -1};", rows, 1);
  }
}

}  // namespace
}  // namespace wootz::conformance
