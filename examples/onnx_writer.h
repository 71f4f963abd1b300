// As much of ONNX's file format as a small model needs, so that an example needs no model file and no other library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace example {

// A message of protocol buffers: fields by their numbers, one after the other.
class Message {
 public:
  Message& number(uint64_t field, uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(uint64_t field, const std::string& value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint64_t field, const Message& value) { return bytes(field, value.bytes_); }
  const std::string& text() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7U) bytes_ += static_cast<char>(value % 128 + 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// A model of FP32: nodes without attributes, and constants by name.
class OnnxModel {
 public:
  using Extents = std::vector<uint64_t>;

  OnnxModel& input(const std::string& name, const Extents& extents) { return border(11, name, extents); }
  OnnxModel& output(const std::string& name, const Extents& extents) { return border(12, name, extents); }
  OnnxModel& constant(const std::string& name, const Extents& extents, const std::vector<float>& values) {
    Message tensor;
    for (const uint64_t extent : extents) tensor.number(1, extent);
    const auto* const raw = reinterpret_cast<const char*>(values.data());
    tensor.number(2, kFloat).bytes(8, name).bytes(9, std::string(raw, values.size() * sizeof(float)));
    graph_.message(5, tensor);
    return *this;
  }
  OnnxModel& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    Message node;
    for (const std::string& name : inputs) node.bytes(1, name);
    graph_.message(1, node.bytes(2, output).bytes(3, op + " of " + output).bytes(4, op));
    return *this;
  }
  std::string file() const {
    Message graph = graph_, model;
    model.number(1, 8).bytes(2, "example").message(7, graph.bytes(2, "graph"));
    return model.message(8, Message().bytes(1, "").number(2, 17)).text();
  }

 private:
  static constexpr uint64_t kFloat = 1;

  OnnxModel& border(uint64_t field, const std::string& name, const Extents& extents) {
    Message shape;
    for (const uint64_t extent : extents) shape.message(1, Message().number(1, extent));
    const Message tensor = Message().number(1, kFloat).message(2, shape);
    graph_.message(field, Message().bytes(1, name).message(2, Message().message(1, tensor)));
    return *this;
  }
  Message graph_;
};

}  // namespace example
