// Settings of a network that no build acts on.
#pragma once

namespace wootz::api {

class NetworkImpl;
class Reporter;

// Names each in a warning. `types_bind`: those that are set on layers are looked at.
void note_without_effect(const NetworkImpl& network, const Reporter& reporter, bool types_bind, bool int8);

}  // namespace wootz::api
