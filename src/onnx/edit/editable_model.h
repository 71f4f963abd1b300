// A model that is written again with other numbers: nodes and weights are put in, and everything else stays as it is in
// the file. No protobuf type leaves src/onnx.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onnx/edit/format_rules.h"

namespace onnx {
class ModelProto;
}

namespace wootz {

class EditableModel {
 public:
  // Errors: it cannot be read, external data are missing, it is quantized already.
  static Result<std::unique_ptr<EditableModel>> open(const std::string& path);
  // Of bytes; `folder`: of external data.
  static Result<std::unique_ptr<EditableModel>> read(std::span<const std::byte> bytes, const std::string& folder);
  ~EditableModel();

  // Errors: a layer that is to be kept is none, an operator means something else in the version that the format needs.
  Status convert(const FormatRules& rules, std::vector<EditedLayer>* layers);
  // The model as it now is, as bytes; external data stay in the folder of the model that was opened.
  Result<std::string> bytes() const;
  // To a file of its own. External data go into one beside it, PATH.data. The files take their names when they are
  // whole.
  Status write(const std::string& path) const;
  // Another one like this, as the file has it.
  std::unique_ptr<EditableModel> copy() const;
  const std::string& folder() const { return folder_; }

 private:
  EditableModel();
  Status check() const;
  std::unique_ptr<::onnx::ModelProto> model_;
  std::string folder_;
};

}  // namespace wootz
