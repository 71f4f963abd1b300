#include "data.h"

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "npz.h"

namespace wootz_cli {
namespace {

namespace fs = std::filesystem;

bool has_ending(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

std::vector<std::string> files_of(const std::string& what, const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw Failure(what + ": " + path + " is not there");
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> here;
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (has_ending(entry.path(), ".npy") || has_ending(entry.path(), ".npz")) here.push_back(entry.path());
    if (here.empty()) throw Failure(what + ": there is no .npy and no .npz in " + path);
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

std::string names_of(const std::map<std::string, Array>& arrays) {
  std::string names;
  for (const auto& [name, array] : arrays) names += (names.empty() ? "'" : ", '") + name + "'";
  return names;
}

size_t bytes_of_shape(const InputForm& input) {
  Array array;
  array.dtype = input.dtype;
  array.shape = input.shape;
  return bytes_of(array);
}

}  // namespace

DataBatches::DataBatches(const std::string& what, const std::vector<std::string>& paths, InputForms inputs)
    : inputs_(std::move(inputs)), files_(files_of(what, paths)) {}

// How many batches of the network's shape an array is cut into, along its first axis.
size_t DataBatches::batches_of(const std::string& file, const std::string& name, const Array& array) const {
  const InputForm& input = inputs_.at(name);
  const std::vector<int64_t>&want = input.shape, &have = array.shape;
  if (array.dtype != input.dtype)
    throw Failure(file + ": '" + name + "' is " + dtype_name(array.dtype) + ", the network takes " +
                  dtype_name(input.dtype));
  if (have == want) return 1;
  if (want.empty() || have.size() != want.size() || have[0] == 0 || want[0] == 0 ||
      !std::equal(have.begin() + 1, have.end(), want.begin() + 1))
    throw Failure(file + ": '" + name + "' is " + shape_text(have) + ", the network takes " + shape_text(want) +
                  ", or more of them along the first axis");
  return static_cast<size_t>((have[0] + want[0] - 1) / want[0]);
}

// False: there are no more files.
bool DataBatches::open_next() {
  if (next_file_ == files_.size()) return false;
  const std::string& file = files_[next_file_++];
  arrays_.clear();
  batch_ = batches_ = 0;
  if (has_ending(file, ".npz")) {
    arrays_ = read_npz(file);
  } else {
    if (inputs_.size() != 1)
      throw Failure(file + ": its array has no name, and the network has " + std::to_string(inputs_.size()) +
                    " inputs: write them to .npz files with numpy.savez");
    arrays_[inputs_.begin()->first] = read_npy(file);
  }
  const auto same_name = [](const auto& array, const auto& input) { return array.first == input.first; };
  if (arrays_.size() != inputs_.size() || !std::equal(arrays_.begin(), arrays_.end(), inputs_.begin(), same_name)) {
    std::string wanted;
    for (const auto& [name, input] : inputs_) wanted += (wanted.empty() ? "'" : ", '") + name + "'";
    throw Failure(file + " has " + names_of(arrays_) + ", the network's inputs are " + wanted);
  }
  for (const auto& [name, array] : arrays_) {
    const size_t batches = batches_of(file, name, array);
    if (batches_ != 0 && batches != batches_)
      throw Failure(file + ": '" + name + "' has " + std::to_string(batches) + " batches, another array " +
                    std::to_string(batches_));
    batches_ = batches;
  }
  return true;
}

// Of the batch at hand; where the array ends, its beginning follows.
Array DataBatches::part(const std::string& name) const {
  const Array& all = arrays_.at(name);
  Array array;
  array.dtype = all.dtype;
  array.shape = inputs_.at(name).shape;
  const size_t bytes = bytes_of_shape(inputs_.at(name)), from = batch_ * bytes;
  array.bytes.resize(bytes);
  for (size_t done = 0; done < bytes;) {
    const size_t at = (from + done) % all.bytes.size(), here = std::min(bytes - done, all.bytes.size() - at);
    std::copy_n(all.bytes.data() + at, here, array.bytes.data() + done);
    done += here;
  }
  return array;
}

std::optional<NamedArrays> DataBatches::next() {
  while (batch_ == batches_)
    if (!open_next()) return std::nullopt;
  NamedArrays arrays;
  for (const auto& [name, form] : inputs_) arrays[name] = part(name);
  ++batch_;
  return arrays;
}

}  // namespace wootz_cli
