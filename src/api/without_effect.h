// Settings of a network that no build acts on.
#pragma once

namespace wootz {
class Graph;
}

namespace wootz::api {

class NetworkImpl;
class Reporter;

// Names each in a warning. `types_bind`: those that are set on layers are looked at.
void note_without_effect(const NetworkImpl& network, const Reporter& reporter, bool types_bind, bool int8);

// Of a network that is built with INT8: whether there is a calibrator or a range beside what it says itself.
void note_int8(const Graph& graph, bool any_scales, const Reporter& reporter);

}  // namespace wootz::api
