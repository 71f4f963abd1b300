// Any bytes: a model that is written in every format or refused, never a crash, a hang or unbounded memory. The seeds
// are the importer's.
#include "onnx/edit/editable_model.h"
#include "onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wootz;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const Result<std::unique_ptr<EditableModel>> model = EditableModel::read(bytes, "");
  if (!model.ok()) return 0;
  FormatRules rules;
  rules.block = 2;
  if (const Result<std::shared_ptr<Graph>> graph = import_model(bytes); graph.ok()) {
    const auto note = [&](const Value& value) {
      rules.scales[value.name()] = 0.1F;
      rules.types[value.name()] = value.dtype();
      rules.ranks[value.name()] = value.rank();
    };
    for (const Value* input : (*graph)->inputs()) note(*input);
    for (const Node* node = (*graph)->first(); node != nullptr; node = node->next())
      for (const Value* value : node->outputs()) note(*value);
  }
  for (const NumberFormat format :
       {NumberFormat::kInt8, NumberFormat::kFp8, NumberFormat::kInt4, NumberFormat::kInt8Dynamic, NumberFormat::kNvfp4,
        NumberFormat::kMxfp8, NumberFormat::kFp16, NumberFormat::kBf16, NumberFormat::kFp32}) {
    rules.format = format;
    rules.zero_points = !rules.zero_points;
    rules.sparse = !rules.sparse || format == NumberFormat::kFp32;
    std::vector<EditedLayer> layers;
    const std::unique_ptr<EditableModel> own = (*model)->copy();
    if (own->convert(rules, &layers).ok()) (void)own->bytes().ok();
  }
  return 0;
}
