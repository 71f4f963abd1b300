// Every op's cases through the verifier and the text form: what a plan holds of an op is its text.
#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

TEST(OpText, EveryCaseSurvivesVerifierAndText) {
  const uint64_t seed = test_seed();
  for (const OpCase& c : all_cases(seed)) {
    SCOPED_TRACE(c.name);
    const Status inferred = infer_graph(*c.graph);
    ASSERT_TRUE(inferred.ok()) << inferred.message();
    const Status verified = verify_graph(*c.graph);
    ASSERT_TRUE(verified.ok()) << verified.message();
    const std::string text = print_graph(*c.graph);
    Result<std::unique_ptr<Graph>> read = parse_graph(text, find_op);
    ASSERT_TRUE(read.ok()) << read.status().message() << '\n' << text;
    EXPECT_EQ(print_graph(**read), text);
    ASSERT_TRUE(infer_graph(**read).ok());  // the same types come out again
    EXPECT_EQ(print_graph(**read), text);
    for (const Node* node : c.graph->nodes()) {
      const Result<std::string> alone = print_node(*node);
      ASSERT_TRUE(alone.ok()) << alone.status().message();
      Result<std::unique_ptr<Graph>> one = parse_graph(*alone, find_op);
      ASSERT_TRUE(one.ok()) << one.status().message() << '\n' << *alone;
      const Status sound = verify_graph(**one);
      ASSERT_TRUE(sound.ok()) << sound.message() << '\n' << *alone;
      EXPECT_EQ((*one)->first()->num_inputs(), node->num_inputs());
      EXPECT_EQ(*print_node(*(*one)->first()), *alone);
    }
  }
}

}  // namespace
}  // namespace wootz
