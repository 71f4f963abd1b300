// Steps on several streams of the device: whatever stream each is on, results are those of one stream, bit for bit. The
// emulator replays a recording in a random order among those that its waits allow.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/tolerance.h"
#include "conformance/on_cuda.h"
#include "ops/cases.h"
#include "ops/interpreter.h"

namespace wootz::conformance {
namespace {

class CudaStreams : public OnCuda {
 protected:
  size_t pick(size_t count) { return random_() % count; }

  // A few kinds of nodes over one shape, so that few kernels serve many networks.
  std::string network(int nodes) {
    std::vector<std::string> values = {"a", "b"};
    std::vector<int> uses(2, 0);
    std::string body;
    // Recent values make chains, old ones branches.
    const auto operand = [&] {
      const size_t v =
          pick(3) == 0 ? pick(values.size()) : values.size() - 1 - pick(std::min<size_t>(values.size(), 4));
      ++uses[v];
      return "%" + values[v];
    };
    for (int n = 0; n < nodes; ++n) {
      const std::string name = "v" + std::to_string(n);
      constexpr const char* kPairs[] = {"Add", "Sub", "Max"};
      constexpr const char* kSingles[] = {"Neg", "Softmax", "Tanh"};
      const std::string first = operand();
      if (pick(2) == 0)
        body += "  %" + name + " = " + kPairs[pick(3)] + "(" + first + ", " + operand() + ");\n";
      else
        body += "  %" + name + " = " + kSingles[pick(3)] + "(" + first + ");\n";
      values.push_back(name);
      uses.push_back(0);
    }
    std::string outputs;
    for (size_t v = 2; v < values.size(); ++v)
      if (uses[v] == 0) outputs += (outputs.empty() ? "%" : ", %") + values[v];
    return "graph \"g\" {\n  %a: f32[8,16] = input;\n  %b: f32[8,16] = input;\n" + body + "  return " + outputs +
           ";\n}\n";
  }

  Result<PreparedRun> prepared(const std::string& text, const std::vector<HostTensor>& inputs,
                               std::function<uint8_t(StepIndex)> stream) {
    RunOptions options;
    options.backend = "cuda";
    options.passes = false;
    options.stream = std::move(stream);
    const std::unique_ptr<Graph> graph = parsed(text);
    if (graph == nullptr) return internal_error("no graph");
    return prepare_graph_on(*graph, inputs, options);
  }

  std::mt19937_64 random_{seed_};
};

TEST_F(CudaStreams, RandomStreamsOfRandomNetworks) {
  for (int round = 0; round < 25; ++round) {
    const std::string text = network(static_cast<int>(4 + pick(28)));
    SCOPED_TRACE(fmt::format("round {} {}", round, text));
    CaseList values(seed_ + static_cast<uint64_t>(round));
    const std::vector<HostTensor> inputs = {values.random(DType::kF32, Dims{8, 16}, -1, 1),
                                            values.random(DType::kF32, Dims{8, 16}, -1, 1)};
    Result<PreparedRun> one = prepared(text, inputs, nullptr);
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    const Result<RunResult> want = one->run();
    ASSERT_TRUE(want.ok()) << want.status().to_string();
    const Result<std::vector<HostTensor>> reference = run_graph(*parsed(text), inputs);
    ASSERT_TRUE(reference.ok());
    const size_t streams = 2 + pick(3), shift = random_();
    Result<PreparedRun> many = prepared(text, inputs, [=](StepIndex step) {
      return static_cast<uint8_t>(std::hash<size_t>()(step.position() * 2654435761U + shift) / 7 % streams);
    });
    ASSERT_TRUE(many.ok()) << many.status().to_string();
    for (int again = 0; again < 3; ++again) {  // recorded, then replayed
      const Result<RunResult> have = many->run();
      ASSERT_TRUE(have.ok()) << have.status().to_string();
      for (size_t o = 0; o < want->outputs.size(); ++o) {
        const HostTensor &a = have->outputs[o], &b = want->outputs[o];
        ASSERT_EQ(std::memcmp(a.data(), b.data(), b.bytes()), 0) << "output " << o;
        const Difference d = compare_by_place(a, (*reference)[o]);
        ASSERT_TRUE(within(d, tolerance_for(DType::kF32, 64), 1e-5)) << "output " << o << ": " << to_string(d);
      }
    }
  }
}

}  // namespace
}  // namespace wootz::conformance
