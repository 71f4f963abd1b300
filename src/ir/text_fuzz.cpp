// Whatever parse_graph() accepts prints as text that reads back as the same text, and nothing else crashes, hangs or
// eats memory.
#include <cstdint>
#include <cstdlib>

#include "ir/test_ops.h"
#include "ir/text.h"
#include "ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wootz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_test_op);
  if (!graph.ok()) return 0;
  (void)verify_graph(**graph).ok();
  const std::string printed = print_graph(**graph);
  Result<std::unique_ptr<Graph>> again = parse_graph(printed, find_test_op);
  // The printed text may nest or cost more than the limits allow where the original just did not.
  if (again.ok() && print_graph(**again) != printed) std::abort();
  for (const Node* node = (*graph)->first(); node != nullptr; node = node->next()) (void)print_node(*node).ok();
  return 0;
}
