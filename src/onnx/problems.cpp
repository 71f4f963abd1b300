#include "onnx/problems.h"

#include "onnx/text.h"

namespace wootz {

namespace importer {
namespace {
constexpr size_t kShown = 5;
}

void Problems::add(ImportProblem problem) {
  ++count_;
  problem.reason = printable_message(problem.reason);  // it may quote names of the model
  if (list_.size() < std::max<size_t>(keep_, 1)) list_.push_back(std::move(problem));
}

void Problems::forget(size_t count, size_t listed) {
  count_ = count;
  list_.resize(std::min(list_.size(), listed));
}

Status Problems::summary() const {
  if (count_ == 0) return Status();
  // The most telling code: what is wrong with the model before what we cannot do.
  Code code = Code::kUnsupported;
  for (const ImportProblem& problem : list_) {
    if (problem.code == Code::kUnsupported) continue;
    code = problem.code;
    break;
  }
  std::string text = count_ == 1 ? "1 problem: " : fmt::format("{} problems: ", count_);
  for (size_t i = 0; i < list_.size() && i < kShown; ++i) {
    if (i > 0) text += "; ";
    text += list_[i].to_string();
  }
  if (count_ > kShown) text += fmt::format("; and {} more", count_ - std::min(kShown, list_.size()));
  return Status(code, std::move(text));
}

}  // namespace importer
}  // namespace wootz
