// Stands in for libFuzzer in ordinary builds: runs a fuzz target on every file of the corpus folder given, on nothing, and on
// a fixed series of truncations and byte changes of each, so that every build knows that the targets work.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<std::vector<uint8_t>> inputs = {{}, {0}, std::vector<uint8_t>(64, 0xff)};
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) continue;
    for (const auto& entry : fs::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  std::mt19937 rng(1);
  size_t runs = 0;
  for (const auto& input : inputs) {
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++runs;
    for (int i = 0; i < 100 && !input.empty(); ++i, ++runs) {
      std::vector<uint8_t> changed = input;
      if (i % 4 == 0) changed.resize(rng() % changed.size());
      for (int k = 0; k < 1 + i % 3 && !changed.empty(); ++k) {
        changed[rng() % changed.size()] = static_cast<uint8_t>(rng());
      }
      LLVMFuzzerTestOneInput(changed.data(), changed.size());
    }
  }
  std::printf("%zu inputs, no crash\n", runs);
  return 0;
}
