// A graph of a test's text.
#pragma once

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::conformance {

// Inferred; null, and a failure, where the text is no graph.
inline std::unique_ptr<Graph> parsed(const std::string& text) {
  Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
  EXPECT_TRUE(graph.ok()) << graph.status().to_string() << text;
  if (!graph.ok()) return nullptr;
  const Status inferred = infer_graph(**graph);
  EXPECT_TRUE(inferred.ok()) << inferred.to_string();
  return std::move(graph).value();
}

}  // namespace wootz::conformance
