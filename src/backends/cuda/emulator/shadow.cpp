#include "backends/cuda/emulator/shadow.h"

#include <algorithm>
#include <iterator>

namespace wootz::cuda {

void Cell::move_on(uint32_t to_block) {
  if (block == to_block) return;
  const bool was_read = std::any_of(std::begin(reads), std::end(reads), [](const Access& a) { return a.time != 0; });
  others_read = others_read || was_read;
  others_wrote = others_wrote || write.time != 0;
  write = Access{};
  std::fill(std::begin(reads), std::end(reads), Access{});
  block = to_block;
}

Word& Shadow::at(uintptr_t address) {
  const uintptr_t word = address / 4, number = word / kPage;
  if (last_ == nullptr || number != last_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_ = page.get();
    last_number_ = number;
  }
  return last_->words[word % kPage];
}

}  // namespace wootz::cuda
