// Any bytes: imported to a graph or refused, never a crash, a hang or unbounded memory. Nothing is run but what the
// importer itself folds. Seeds: tools/fuzz/seeds_onnx.py.
#include <cstdlib>

#include "onnx/import.h"
#include "onnx/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<wootz::ImportProblem> problems;
  const wootz::Result<std::shared_ptr<wootz::Graph>> graph = wootz::import_model(bytes, {}, &problems);
  if (graph.ok() != problems.empty() || (graph.ok() && *graph == nullptr)) std::abort();
  for (const wootz::ImportProblem& problem : problems)
    if (problem.to_string().empty()) std::abort();
  (void)wootz::query_support(bytes).ok();
  (void)wootz::parse_onnx_tensor(bytes).ok();
  return 0;
}
