// compat/include against the headers of a CUDA 13 toolkit: numbers, layouts, and how functions are called.
#include <gtest/gtest.h>

#include "header_facts.h"

TEST(HostcudaHeaders, AgreeWithTheToolkit) {
  const Facts ours = our_facts(), theirs = toolkit_facts();
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    EXPECT_EQ(ours[i].second, theirs[i].second) << ours[i].first;
  }
}
