// Settings of a network that no build acts on.
#pragma once

namespace wootz::api {

class NetworkImpl;
class Reporter;

// Names each in a warning.
void note_without_effect(const NetworkImpl& network, const Reporter& reporter);

}  // namespace wootz::api
