#include "random_graphs/generate.h"

#include "random_graphs/generator.h"

namespace wootz::random_graphs {

Sample generate(uint64_t seed, int size) { return Generator(seed).make(size); }

}  // namespace wootz::random_graphs
