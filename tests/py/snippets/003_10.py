# Enable verbose logging
TRT_LOGGER = trt.Logger(trt.Logger.VERBOSE)

# Check layer support
def check_network_support(network):
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        if not layer_is_supported(layer):
            print(f"Unsupported layer: {layer.name} ({layer.type})")
