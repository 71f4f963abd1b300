// Writing a composition of ops while importing an ONNX node.
#pragma once

#include "ops/onnx_import.h"
#include "ops/support/graph_builder.h"

namespace wootz {

// The nodes become those of the ONNX node being imported.
class ImportSink final : public NodeSink {
 public:
  explicit ImportSink(ImportContext& ctx) : ctx(ctx) {}
  Graph& graph() override { return ctx.graph(); }
  Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) override {
    return ctx.add(op, std::move(inputs), std::move(attrs), num_outputs);
  }
  Value* add_constant(HostTensor tensor) override { return ctx.add_constant(std::move(tensor)); }

  ImportContext& ctx;
};

class Composer : private WithSink<ImportSink>, public GraphBuilder {
 public:
  explicit Composer(ImportContext& ctx) : WithSink(ctx), GraphBuilder(sink) {}

  // Names output i of the ONNX node when it is wanted; gives the first failure.
  Status output(int i, Value* value) {
    if (!failed() && sink.ctx.wants_output(i)) sink.ctx.set_output(i, value);
    return status();
  }
};

}  // namespace wootz
