// Recurrent layers against the ops' reference: every attribute, operands left out, all types, shapes of all kinds.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "backend/recurrence.h"
#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz::cpu {
namespace {

struct Layer {
  std::string op = "LSTM", direction = "forward";
  DType type = DType::kF32;
  int64_t steps = 3, batch = 2, inputs = 5, hidden = 4;
  AttrMap attrs;                                 // of the op beside these
  std::vector<bool> given = {true, true, true};  // by RnnInput
  std::vector<bool> constant = {false, true, true, true, false, false, false, true};
  std::vector<bool> wanted = {true, true, true};
  DType lengths = DType::kI32;

  bool batch_first() const { return attrs.count("layout") != 0; }
  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  size_t outputs() const { return op == "LSTM" ? 3 : 2; }
  Dims dims(size_t input) const {
    const int64_t d = directions(), width = gates() * hidden;
    const Dims state = batch_first() ? Dims{batch, d, hidden} : Dims{d, batch, hidden};
    const Dims all[] = {batch_first() ? Dims{batch, steps, inputs} : Dims{steps, batch, inputs},
                        {d, width, inputs},
                        {d, width, hidden},
                        {d, 2 * width},
                        {batch},
                        state,
                        state,
                        {d, 3 * hidden}};
    return all[input];
  }
};

std::vector<HostTensor> draw(const Layer& l, std::mt19937_64& rng) {
  std::vector<HostTensor> inputs(l.given.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!l.given[i]) continue;
    const double most = i == kRnnW   ? 1.5 / std::sqrt(static_cast<double>(l.inputs) + 1)
                        : i == kRnnR ? 1.0 / std::sqrt(static_cast<double>(l.hidden))
                                     : 1;
    inputs[i] = i == kRnnLengths ? rig::random_tensor(rng, l.lengths, l.dims(i), 0, static_cast<double>(l.steps))
                                 : rig::random_tensor(rng, l.type, l.dims(i), -most, most);
  }
  return inputs;
}

std::vector<HostTensor> reference(const Layer& l, const std::vector<HostTensor>& inputs) {
  Graph graph("test");
  std::vector<Value*> values;
  std::vector<HostTensor> given;
  for (const HostTensor& t : inputs) {
    values.push_back(nullptr);
    if (!t.valid()) continue;
    values.back() = graph.add_input("x" + std::to_string(given.size()), t.dtype(), to_shape(t.dims()));
    given.push_back(t);
  }
  AttrMap attrs = l.attrs;
  attrs["hidden"] = l.hidden;
  attrs["direction"] = l.direction;
  Node* node = graph.add_node(op(l.op), "n", values, std::move(attrs), static_cast<int>(l.outputs()));
  for (Value* out : node->outputs()) graph.mark_output(out);
  const Status status = infer_graph(graph);
  EXPECT_TRUE(status.ok()) << status.to_string();
  Result<std::vector<HostTensor>> outputs = run_graph(graph, given);
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? std::move(outputs).value() : std::vector<HostTensor>(l.outputs());
}

Problem problem_of(const Layer& l, const std::vector<HostTensor>& inputs, std::vector<HostTensor>* expected) {
  Problem p;
  p.set_family(Family::kRnn);
  auto& params = p.as<RnnParams>();
  const ParamTable& table = family_table(Family::kRnn);
  const auto set = [&](std::string_view name, const ParamSource& value) {
    for (const ParamField& field : table.fields)
      if (name == field.name) EXPECT_TRUE(assign_param(field, &params, value)) << name;
  };
  for (const auto& [name, value] : l.attrs) {
    if (name == "activations") {
      std::stringstream names(std::get<std::string>(value));
      for (std::string one; std::getline(names, one, ',');) {
        for (char& c : one) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        params.activations.push_back(*choice_from_name<RnnFunction>(one));
      }
      continue;
    }
    if (const auto* i = std::get_if<int64_t>(&value)) set(name, *i);
    if (const auto* f = std::get_if<double>(&value)) set(name, *f);
    if (const auto* s = std::get_if<std::string>(&value)) set(name, *s);
    if (const auto* v = std::get_if<std::vector<double>>(&value)) set(name, *v);
  }
  set("kind", std::string(l.op));  // whatever its case
  params.hidden = l.hidden;
  set("direction", std::string(l.direction));
  p.num_main = static_cast<int>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    p.inputs.push_back(inputs[i].valid() ? rig::desc_of(inputs[i], l.constant[i]) : TensorDesc());
  for (size_t o = 0; o < expected->size(); ++o) {
    if (!l.wanted[o]) (*expected)[o] = HostTensor();
    p.outputs.push_back(l.wanted[o] ? rig::desc_of((*expected)[o]) : TensorDesc());
  }
  return p;
}

void check(const Layer& l, std::mt19937_64& rng, bool misaligned = false) {
  const std::vector<HostTensor> inputs = draw(l, rng);
  std::vector<HostTensor> expected = reference(l, inputs);
  const Problem p = problem_of(l, inputs, &expected);
  SCOPED_TRACE(p.key());
  rig::Options options;
  // A unit's last state is a sum over all steps, of which what is left may be small.
  options.tolerance = tolerance_for(l.type, (l.inputs + l.hidden) * l.steps);
  options.in_place = false;
  options.misaligned = misaligned;
  rig::check(p, inputs, expected, options);
}

class Recurrent : public ::testing::Test {
 protected:
  int64_t pick(std::initializer_list<int64_t> values) { return values.begin()[rng_() % values.size()]; }
  bool coin() { return rng_() % 2 != 0; }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng_); }
  // Any but the one with a step, where the smallest difference counts.
  void any_activations(Layer* l) {
    static const char* const kNames[] = {"Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu",
                                         "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
    std::string names;
    std::vector<double> alphas, betas;
    const int64_t each = l->op == "LSTM" ? 3 : l->op == "GRU" ? 2 : 1;
    for (int64_t i = 0; i < each * l->directions(); ++i) {
      names += (i == 0 ? "" : ",") + std::string(kNames[rng_() % std::size(kNames)]);
      if (i % 3 != 2) alphas.push_back(real(0.1, 0.9)), betas.push_back(real(0.1, 0.9));
    }
    l->attrs["activations"] = names;
    if (coin()) l->attrs["activation_alpha"] = alphas;
    if (coin()) l->attrs["activation_beta"] = betas;
  }

  std::mt19937_64 rng_{rig::seed()};
};

TEST_F(Recurrent, RandomLayersAgreeWithTheReference) {
  const char* const ops[] = {"LSTM", "GRU", "RNN"};
  const char* const directions[] = {"forward", "reverse", "bidirectional"};
  const DType types[] = {DType::kF32, DType::kF32, DType::kF16, DType::kBF16};
  for (int round = 0; round < 90; ++round) {
    Layer l;
    l.op = ops[round % 3];
    l.direction = directions[rng_() % 3];
    l.type = types[rng_() % 4];
    l.steps = pick({1, 2, 5, 9});
    l.batch = pick({1, 1, 2, 3, 7, 13, 26});
    l.inputs = pick({1, 3, 16, 33, 300});
    l.hidden = pick({1, 3, 8, 16, 17, 40, 48, 65});
    if (coin()) l.attrs["layout"] = int64_t{1};
    if (rng_() % 3 == 0) l.attrs["clip"] = real(0.2, 2);
    if (rng_() % 3 != 0) {
      any_activations(&l);
      l.steps = std::min<int64_t>(l.steps, 2);  // those without bounds grow with every step, at last beyond the type
    }
    if (l.op == "GRU" && coin()) l.attrs["linear_before_reset"] = int64_t{1};
    if (l.op == "LSTM" && coin()) l.attrs["input_forget"] = int64_t{1};
    const size_t operands = rng_() % 4 == 0 ? 3 : l.op == "LSTM" ? 8 : 6;
    for (size_t i = 3; i < operands; ++i) l.given.push_back(coin());
    for (size_t i = 1; i < l.constant.size(); ++i)
      if (rng_() % 4 == 0) l.constant[i] = !l.constant[i];
    for (size_t o = 0; o < 3; ++o) l.wanted[o] = rng_() % 4 != 0;
    l.wanted[rng_() % l.outputs()] = true;
    l.lengths = coin() ? DType::kI32 : DType::kI64;
    check(l, rng_, rng_() % 4 == 0);
  }
}

// Several parts of the inputs' gemm, units shared by a team of threads, sequences that end on the way.
TEST_F(Recurrent, LongSequencesAndWideLayers) {
  for (const char* op : {"LSTM", "GRU", "RNN"})
    for (const char* direction : {"reverse", "bidirectional"}) {
      Layer l;
      l.op = op;
      l.direction = direction;
      l.steps = 210;
      l.batch = 1 + static_cast<int64_t>(rng_() % 2);
      l.hidden = 190;
      l.inputs = 20;
      l.given = {true, true, true, true, coin()};
      check(l, rng_);
      l.steps = 4;
      l.batch = 14;
      l.hidden = 530;
      check(l, rng_);
    }
}

// f(x) = x above alpha, 0 at or below: inputs away from the step.
TEST_F(Recurrent, ThresholdedRelu) {
  Layer l;
  l.op = "RNN";
  l.inputs = l.hidden = 1;
  l.batch = 40;
  l.steps = 1;
  l.attrs = {{"activations", std::string("ThresholdedRelu")}, {"activation_alpha", std::vector<double>{0.5}}};
  std::vector<HostTensor> inputs = draw(l, rng_);
  for (int64_t i = 0; i < 40; ++i) inputs[kRnnX].set_f64(i, static_cast<double>(i % 4) - 1 + 0.25);
  inputs[kRnnW].set_f64(0, 1);
  std::vector<HostTensor> expected = reference(l, inputs);
  const Problem p = problem_of(l, inputs, &expected);
  rig::check(p, inputs, expected, {.tolerance = 0, .in_place = false});
  EXPECT_EQ(expected[0].get_f64(0), 0);
  EXPECT_EQ(expected[0].get_f64(2), 1.25);
}

TEST_F(Recurrent, NanStaysAndInfinitySaturates) {
  Layer l;
  l.hidden = 20;
  l.batch = 3;
  std::vector<HostTensor> inputs = draw(l, rng_);
  inputs[kRnnX].set_f64(0, std::nan(""));
  for (int64_t i = 0; i < l.inputs; ++i) inputs[kRnnX].set_f64(l.inputs + i, 1e30);
  std::vector<HostTensor> expected = reference(l, inputs);
  rig::check(problem_of(l, inputs, &expected), inputs, expected, {.tolerance = 1e-5, .in_place = false});
}

// A kernel made for one shape, bound to others.
TEST_F(Recurrent, OtherExtentsThanTheProblems) {
  for (const char* op : {"LSTM", "GRU"}) {
    Layer l;
    l.op = op;
    l.direction = "bidirectional";
    l.hidden = 130;
    std::vector<HostTensor> inputs = draw(l, rng_), expected = reference(l, inputs);
    const Problem p = problem_of(l, inputs, &expected);
    for (const Candidate& offer : rig::offers_for(p, "avx512"))
      for (const int64_t steps : {0, 1, 50}) {
        l.steps = steps;
        l.batch = steps == 1 ? 0 : 9;
        const Result<std::unique_ptr<Kernel>> kernel = rig::provider_of(p).create(offer.tactic, p, {.threads = 3});
        ASSERT_TRUE(kernel.ok()) << kernel.status().to_string();
        const std::vector<HostTensor> fresh = draw(l, rng_);
        const std::vector<HostTensor> wanted = reference(l, {fresh[0], inputs[1], inputs[2]});
        std::vector<RawBytes> packed;
        for (int i : {1, 2})
          packed.push_back(make_bytes((*kernel)->pack(i, inputs[static_cast<size_t>(i)]).value().value()).value());
        const std::vector<Dims> in{fresh[0].dims(), inputs[1].dims(), inputs[2].dims()};
        std::vector<Dims> out;
        std::vector<HostTensor> results;
        std::vector<void*> to;
        for (const HostTensor& t : wanted) {
          out.push_back(t.dims());
          results.push_back(HostTensor::allocate(DType::kF32, t.dims()).value());
          to.push_back(results.back().mutable_data());
        }
        const Result<std::unique_ptr<Call>> call = (*kernel)->bind({in, out, {}});
        ASSERT_TRUE(call.ok()) << call.status().to_string();
        std::vector<std::byte> workspace((*call)->workspace());
        const void* from[] = {fresh[0].data(), packed[0].data(), packed[1].data()};
        ASSERT_TRUE((*call)->run({from, to.data(), workspace.data(), nullptr, nullptr}).ok());
        for (size_t o = 0; o < wanted.size(); ++o)
          EXPECT_TRUE(within(compare(results[o], wanted[o]), tolerance_for(DType::kF32, l.inputs + l.hidden)))
              << o << " of " << steps;
      }
  }
}

TEST_F(Recurrent, LengthsBeyondTheStepsAreRefused) {
  Layer l;
  l.given = {true, true, true, false, true};
  for (const int64_t bad : {int64_t{-1}, l.steps + 1}) {
    std::vector<HostTensor> inputs = draw(l, rng_), expected(3);
    for (size_t o = 0; o < 3; ++o)
      expected[o] = HostTensor::allocate(DType::kF32, o == 0 ? Dims{3, 1, 2, 4} : Dims{1, 2, 4}).value();
    inputs[kRnnLengths].set_i64(1, bad);
    const Problem p = problem_of(l, inputs, &expected);
    const std::vector<Candidate> offers = rig::offers_for(p, "");
    ASSERT_EQ(offers.size(), 1u);
    const auto got = rig::run_candidate(p, offers[0], inputs, {}, false);
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.status().to_string().find(fmt::format("sequence 1 has a length of {}", bad)), std::string::npos);
  }
}

// Problems from a plan may say anything.
TEST_F(Recurrent, ForgedProblemsAreRefused) {
  Layer l;
  l.given.assign(8, true);
  const std::vector<HostTensor> inputs = draw(l, rng_);
  std::vector<HostTensor> expected = reference(l, inputs);
  const Problem good = problem_of(l, inputs, &expected);
  const std::vector<Candidate> offers = rig::offers_for(good, "");
  ASSERT_EQ(offers.size(), 1u);
  using Change = void (*)(Problem&);
  const Change changes[] = {
      [](Problem& p) { p.as<RnnParams>().kind = RnnKind::kGru; },
      [](Problem& p) { p.as<RnnParams>().direction = RnnDirection::kBidirectional; },
      [](Problem& p) { p.as<RnnParams>().hidden = 5; },
      [](Problem& p) { p.as<RnnParams>().hidden = -4; },
      [](Problem& p) { p.as<RnnParams>().hidden = INT64_MAX; },
      [](Problem& p) {
        p.as<RnnParams>().activations = {RnnFunction::kTanh, RnnFunction::kTanh};
      },
      [](Problem& p) { p.as<RnnParams>().layout = true; },
      [](Problem& p) { p.inputs.clear(), p.num_main = 0; },
      [](Problem& p) { p.inputs.resize(2), p.num_main = 2; },
      [](Problem& p) { p.inputs.resize(9), p.num_main = 9; },
      [](Problem& p) { p.num_main = 3; },
      [](Problem& p) {
        p.inputs[0].dims = {3, 10};
      },
      [](Problem& p) { p.inputs[1].dims[2] = 6; },
      [](Problem& p) { p.inputs[2].dims[1] = 15; },
      [](Problem& p) { p.inputs[2].dtype = DType::kF16; },
      [](Problem& p) { p.inputs[3].dims[1] = 31; },
      [](Problem& p) { p.inputs[4].dtype = DType::kF32; },
      [](Problem& p) { p.inputs[4].dims = {3}; },
      [](Problem& p) {
        p.inputs[5].dims = {1, 2, 5};
      },
      [](Problem& p) { p.inputs[6].dims = {8}; },
      [](Problem& p) { p.inputs[7].dims[1] = 11; },
      [](Problem& p) { p.inputs[0].layout = Layout::kChannelsLast; },
      [](Problem& p) { p.inputs[5].layout = Layout::kOpaque; },
      [](Problem& p) { p.outputs[0].layout = Layout::kBlocked16; },
      [](Problem& p) { p.outputs[0].dims[0] = 2; },
      [](Problem& p) {
        p.outputs[1].dims = {2, 4};
      },
      [](Problem& p) { p.outputs[2].dtype = DType::kF64; },
      [](Problem& p) { p.outputs.clear(); },
      [](Problem& p) { p.outputs.resize(4); },
      [](Problem& p) { p.epilogue = rig::test_epilogue(DType::kF32, DType::kF32); },
  };
  int number = 0;
  for (const Change change : changes) {
    Problem p = good;
    change(p);
    EXPECT_FALSE(rig::provider_of(good).create(offers[0].tactic, p, {}).ok()) << "change " << number;
    ++number;
  }
  const Result<std::unique_ptr<Kernel>> kernel = rig::provider_of(good).create(offers[0].tactic, good, {});
  ASSERT_TRUE(kernel.ok());
  std::vector<Dims> in, out;
  for (const TensorDesc& t : good.inputs) in.push_back(t.dims);
  for (const TensorDesc& t : good.outputs) out.push_back(t.dims);
  const std::vector<const void*> constants(8, nullptr);
  EXPECT_FALSE((*kernel)->bind({in, out, constants, std::vector<size_t>(8, 64)}).ok());  // packed for something else
  in[0][1] = 3;
  EXPECT_FALSE((*kernel)->bind({in, out, {}}).ok());
}

}  // namespace
}  // namespace wootz::cpu
