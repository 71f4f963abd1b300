// Layers with weights, whose arrays the network keeps.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

INetworkDefinition& with_weights(nb::handle self, std::initializer_list<nb::handle> arrays) {
  for (nb::handle a : arrays) keep_array(self, a);
  return nb::cast<INetworkDefinition&>(self);
}

void bind_convolutions(Network& network) {
  network
      .def(
          "add_convolution_nd",
          [](nb::handle self, ITensor& input, int64_t maps, Dims kernel_shape, nb::handle kernel, nb::handle bias) {
            auto& n = with_weights(self, {kernel, bias});
            return wrap(n.addConvolutionNd(input, maps, kernel_shape, to_weights(kernel), to_weights(bias)), self);
          },
          nb::arg("input"), nb::arg("num_output_maps"), nb::arg("kernel_shape"), nb::arg("kernel").none(),
          nb::arg("bias").none() = nb::none())
      .def(
          "add_deconvolution_nd",
          [](nb::handle self, ITensor& input, int64_t maps, Dims kernel_shape, nb::handle kernel, nb::handle bias) {
            auto& n = with_weights(self, {kernel, bias});
            return wrap(n.addDeconvolutionNd(input, maps, kernel_shape, to_weights(kernel), to_weights(bias)), self);
          },
          nb::arg("input"), nb::arg("num_output_maps"), nb::arg("kernel_shape"), nb::arg("kernel").none(),
          nb::arg("bias").none() = nb::none());
}

void bind_scales(Network& network) {
  network
      .def(
          "add_scale",
          [](nb::handle self, ITensor& input, ScaleMode mode, nb::handle shift, nb::handle scale, nb::handle power) {
            auto& n = with_weights(self, {shift, scale, power});
            return wrap(n.addScale(input, mode, to_weights(shift), to_weights(scale), to_weights(power)), self);
          },
          nb::arg("input"), nb::arg("mode"), nb::arg("shift").none() = nb::none(), nb::arg("scale").none() = nb::none(),
          nb::arg("power").none() = nb::none())
      .def(
          "add_scale_nd",
          [](nb::handle self, ITensor& input, ScaleMode mode, nb::handle shift, nb::handle scale, nb::handle power,
             int32_t axis) {
            auto& n = with_weights(self, {shift, scale, power});
            return wrap(n.addScaleNd(input, mode, to_weights(shift), to_weights(scale), to_weights(power), axis), self);
          },
          nb::arg("input"), nb::arg("mode"), nb::arg("shift").none() = nb::none(), nb::arg("scale").none() = nb::none(),
          nb::arg("power").none() = nb::none(), nb::arg("channel_axis"),
          nb::sig("def add_scale_nd(self, input: ITensor, mode: ScaleMode, shift: object | None = None, "
                  "scale: object | None = None, power: object | None = None, channel_axis: int = ...) -> IScaleLayer"));
}

}  // namespace

void bind_adding_weights(Network& network) {
  bind_convolutions(network);
  bind_scales(network);
  network.def(
      "add_constant",
      [](nb::handle self, Dims shape, nb::handle weights) {
        auto& n = with_weights(self, {weights});
        return wrap(n.addConstant(shape, to_weights(weights)), self);
      },
      nb::arg("shape"), nb::arg("weights").none());
}

}  // namespace wootz_python
