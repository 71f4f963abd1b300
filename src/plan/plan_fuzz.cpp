// A plan whose digests a forger has made right: refused, or sound.
#include "plan/format.h"
#include "plan/read.h"
#include "plan/use_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (size_t{1} << 22)) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> plan(bytes, bytes + size);
  (void)wootz::read_plan(plan);
  wootz::plan_format::reseal(plan);
  const auto program = wootz::read_plan(plan);
  if (program.ok()) wootz::use_program(**program);
  return 0;
}
