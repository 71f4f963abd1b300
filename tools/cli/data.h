// Representative inputs in files, cut into batches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "npy.h"

namespace wootz_cli {

// What a network takes as one of its inputs.
struct InputForm {
  nvinfer1::DataType dtype = nvinfer1::DataType::kFLOAT;
  std::vector<int64_t> shape;
};
using InputForms = std::map<std::string, InputForm>;
using NamedArrays = std::map<std::string, Array>;

// Batches of .npz and .npy files, and of folders of such, one after the other. Each array is cut along its first axis
// into arrays of the network's shape; the last one is filled up from the beginning.
class DataBatches {
 public:
  // `what` begins messages: "calibration data". Failure: a path that is not there, a folder without such files.
  DataBatches(const std::string& what, const std::vector<std::string>& paths, InputForms inputs);
  const InputForms& inputs() const { return inputs_; }
  // Nullopt: there are no more. Failure: a file that cannot be read, arrays of other names, types or shapes.
  std::optional<NamedArrays> next();

 private:
  bool open_next();
  size_t batches_of(const std::string& file, const std::string& name, const Array& array) const;
  Array part(const std::string& name) const;

  InputForms inputs_;
  std::vector<std::string> files_;
  size_t next_file_ = 0;
  NamedArrays arrays_;              // of the file at hand
  size_t batch_ = 0, batches_ = 0;  // of them
};

}  // namespace wootz_cli
