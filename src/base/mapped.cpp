#include "base/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace wootz {

bool is_mapped(const void* address) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto number = reinterpret_cast<uintptr_t>(address);
  if (number < page) return false;
  unsigned char resident = 0;
  // Only this answer means that nothing is mapped; a system that does not know says something else.
  return ::mincore(reinterpret_cast<void*>(number / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

}  // namespace wootz
