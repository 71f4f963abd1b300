// What the operating system knows of an address.
#pragma once

namespace wootz {

// False: nothing is there, and touching it would end the process. True says no more than that something is: it may
// still not be readable, or belong to another.
bool is_mapped(const void* address);

}  // namespace wootz
