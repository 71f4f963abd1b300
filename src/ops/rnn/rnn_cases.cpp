#include "ops/cases.h"

namespace wootz::ops {

void rnn_cases(CaseList& list) {
  struct Op {
    const char* name;
    int64_t gates;
    int outputs;
  };
  constexpr int64_t kSteps = 6, kBatch = 3, kInputs = 5, kHidden = 4;
  for (const Op& op : {Op{"LSTM", 4, 3}, Op{"GRU", 3, 2}, Op{"RNN", 1, 2}}) {
    const auto add = [&](const std::string& name, AttrMap attrs, int64_t directions, bool state,
                         DType type = DType::kF32, bool constant = true) {
      const bool batch_first = attrs.count("layout") != 0;
      const int64_t width = op.gates * kHidden;
      const auto random = [&](const Dims& dims) { return list.random(type, dims); };
      const Dims held = batch_first ? Dims{kBatch, directions, kHidden} : Dims{directions, kBatch, kHidden};
      std::vector<HostTensor> inputs{
          random(batch_first ? Dims{kBatch, kSteps, kInputs} : Dims{kSteps, kBatch, kInputs}),
          random({directions, width, kInputs}), random({directions, width, kHidden}), random({directions, 2 * width})};
      if (state) {
        const int32_t lengths[] = {6, 2, 4};
        inputs.push_back(HostTensor::from<int32_t>(lengths, {3}));
        inputs.push_back(random(held));
        if (op.gates == 4) {
          inputs.push_back(random(held));
          inputs.push_back(random({directions, 3 * kHidden}));
        }
      }
      attrs["hidden"] = kHidden;
      list.add(std::string("rnn/") + op.name + name, op.name, std::move(inputs), std::move(attrs), op.outputs,
               {false, constant, constant, constant, false, false, false, constant}, kInputs + kHidden);
    };
    add("_forward", {}, 1, false);
    add("_reverse", {{"direction", std::string("reverse")}}, 1, true);
    add("_bidirectional", {{"direction", std::string("bidirectional")}}, 2, true);
    add("_batch_first", {{"layout", int64_t{1}}, {"direction", std::string("bidirectional")}}, 2, true);
    add("_clip", {{"clip", 0.5}}, 1, false);
    add("_f16", {}, 1, true, DType::kF16);
    add("_bf16", {}, 1, true, DType::kBF16);
    add("_computed_weights", {{"direction", std::string("bidirectional")}}, 2, true, DType::kF32, false);
    std::string names = op.gates == 4 ? "HardSigmoid,Elu,ScaledTanh" : op.gates == 3 ? "HardSigmoid,Softsign" : "Elu";
    add("_activations",
        {{"activations", names},
         {"activation_alpha", std::vector<double>{0.3, 0.7}},
         {"activation_beta", std::vector<double>{0.4}}},
        1, true);
    if (op.gates == 3) add("_linear_before_reset", {{"linear_before_reset", int64_t{1}}}, 1, true);
    if (op.gates == 4) add("_input_forget", {{"input_forget", int64_t{1}}}, 1, true);
  }
}

}  // namespace wootz::ops
