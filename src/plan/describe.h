// A program for people and tools: what TensorRT's engine inspector prints, in its JSON form and as one line a layer.
#pragma once

#include <string>

#include "backend/program.h"
#include "base/json.h"

namespace wootz {

struct DescribeOptions {
  const ShapeValues* shapes = nullptr;  // of a call; null: what is known without inputs. Unknown extents are -1
  bool names_only = false;              // a layer is its name alone
};

// {"Layers": [{"Name", "LayerType", "Inputs": [{"Name", "Location", "Dimensions", "Format/Datatype"}], "Outputs",
// "ParameterType", parameters, "TacticName", "TacticValue", "StreamId", "Metadata"}], "Bindings": [names of inputs,
// then outputs]}; ours beside them: "TacticTimeUs", "BytesRead", "BytesWritten", "Flops". The program has passed
// verify_program; profiles with tactics of their own have their layers under "Profiles": [{"Profile", "Layers"}].
// Strings may hold any bytes: dump with error_handler_t::replace.
OrderedJson describe_program(const Program& program, const DescribeOptions& options = {});
OrderedJson describe_step(const Program& program, StepIndex step, const DescribeOptions& options = {});

// "conv1 + relu1 [Convolution] x f32[1x3x8x8], w f32[4x3x3x3] -> y f32[1x4x6x6]@blocked8, onednn:conv_f32, 12.5 us"
std::string describe_step_line(const Program& program, StepIndex step, const DescribeOptions& options = {});

}  // namespace wootz
