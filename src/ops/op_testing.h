// For tests of modules: run one op on tensors written out in the test, and compare with values written out in the test.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz::optest {

// A tensor of any element type from numbers.
inline HostTensor make(DType dtype, const Dims& dims, std::initializer_list<double> values) {
  Result<HostTensor> made = HostTensor::allocate(dtype, dims);
  EXPECT_TRUE(made.ok());
  EXPECT_EQ(made->volume(), static_cast<int64_t>(values.size()));
  int64_t i = 0;
  for (double v : values) {
    if (is_float(dtype))
      made->set_f64(i++, v);
    else
      made->set_i64(i++, static_cast<int64_t>(v));
  }
  return std::move(made).value();
}
inline HostTensor f32(const Dims& dims, std::initializer_list<double> values) {
  return make(DType::kF32, dims, values);
}
inline HostTensor i64(const Dims& dims, std::initializer_list<double> values) {
  return make(DType::kI64, dims, values);
}
inline HostTensor i32(const Dims& dims, std::initializer_list<double> values) {
  return make(DType::kI32, dims, values);
}
inline HostTensor boolean(const Dims& dims, std::initializer_list<double> values) {
  return make(DType::kBool, dims, values);
}
// 0, 1, 2, ...
inline HostTensor iota(DType dtype, const Dims& dims) {
  HostTensor t = *HostTensor::allocate(dtype, dims);
  for (int64_t i = 0; i < t.volume(); ++i) is_float(dtype) ? t.set_f64(i, static_cast<double>(i)) : t.set_i64(i, i);
  return t;
}

// A one-node graph with every input a graph input (invalid tensor: omitted). Infers and runs.
inline Result<std::vector<HostTensor>> try_op(std::string_view name, const std::vector<HostTensor>& inputs,
                                              AttrMap attrs = {}, int num_outputs = 1, bool constants = false) {
  Graph graph("test");
  std::vector<Value*> values;
  std::vector<HostTensor> given;
  for (const HostTensor& t : inputs) {
    if (!t.valid()) {
      values.push_back(nullptr);
    } else if (constants) {
      values.push_back(graph.add_constant("c", t));
    } else {
      values.push_back(graph.add_input("x" + std::to_string(given.size()), t.dtype(), to_shape(t.dims())));
      given.push_back(t);
    }
  }
  Node* node = graph.add_node(op(name), "n", values, std::move(attrs), num_outputs);
  for (Value* out : node->outputs()) graph.mark_output(out);
  WOOTZ_RETURN_IF_ERROR(infer_graph(graph));
  return run_graph(graph, given);
}
// The first output; an invalid tensor (and a test failure) when it does not run.
inline HostTensor run_op(std::string_view name, const std::vector<HostTensor>& inputs, AttrMap attrs = {},
                         int output = 0, int num_outputs = 1) {
  Result<std::vector<HostTensor>> outputs = try_op(name, inputs, std::move(attrs), std::max(num_outputs, output + 1));
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? (*outputs)[static_cast<size_t>(output)] : HostTensor();
}

// NaN equals NaN only where the expectation is NaN.
inline void expect_tensor(const HostTensor& actual, const HostTensor& expected, double tolerance = 0) {
  ASSERT_TRUE(actual.valid());
  EXPECT_STREQ(dtype_name(actual.dtype()), dtype_name(expected.dtype()));
  ASSERT_EQ(actual.dims().to_string(), expected.dims().to_string());
  for (int64_t i = 0; i < expected.volume(); ++i) {
    if (!is_float(expected.dtype())) {
      EXPECT_EQ(actual.get_i64(i), expected.get_i64(i)) << "element " << i;
      continue;
    }
    const double a = actual.get_f64(i), b = expected.get_f64(i);
    if (std::isnan(b) || std::isinf(b)) {
      EXPECT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << "element " << i << ": " << a << " against " << b;
    } else {
      EXPECT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b)))
          << "element " << i << ": " << a << " against " << b;
      EXPECT_FALSE(std::isnan(a)) << "element " << i;
    }
  }
}

// A graph under construction for tests of symbolic shapes.
struct SymbolicGraph {
  Graph graph{"symbolic"};
  Dim symbol(const std::string& name) {
    Symbol s;
    s.name = name;
    return Dim::symbol(graph.add_symbol(std::move(s)));
  }
  Value* input(DType dtype, Shape shape) {
    return graph.add_input("x" + std::to_string(graph.inputs().size()), dtype, std::move(shape));
  }
  Value* constant(HostTensor t) {
    return graph.add_constant("c" + std::to_string(graph.constants().size()), std::move(t));
  }
  Value* ints(std::initializer_list<double> v) { return constant(i64({static_cast<int64_t>(v.size())}, v)); }
  Node* node(std::string_view name, std::vector<Value*> inputs, AttrMap attrs = {}, int outputs = 1) {
    Node* n = graph.add_node(op(name), "", std::move(inputs), std::move(attrs), outputs);
    const Status status = infer_node(*n);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return n;
  }
  Value* add(std::string_view name, std::vector<Value*> inputs, AttrMap attrs = {}) {
    return node(name, std::move(inputs), std::move(attrs))->output();
  }
};

using Ints = std::vector<int64_t>;

}  // namespace wootz::optest
