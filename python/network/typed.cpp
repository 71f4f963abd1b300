// A layer as the class of its kind.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {

namespace {

template <class Interface>
nb::object as(ILayer* layer, nb::handle network) {
  return wrap(static_cast<Interface*>(layer), network);
}

// Kinds whose own `type` hides the layer's, which programs ask all layers for: they set __class__ where they want the
// other one. Another object for this than what the method that added the layer gave.
nb::object as_layer(ILayer* layer, nb::handle network) {
  return nb::inst_reference(nb::type<ILayer>(), layer, network);
}

struct Kind {
  LayerType type;
  nb::object (*as)(ILayer* layer, nb::handle network);
};

constexpr Kind kKinds[] = {
    {LayerType::kCONVOLUTION, as<IConvolutionLayer>},
    {LayerType::kCAST, as<ICastLayer>},
    {LayerType::kACTIVATION, as_layer},
    {LayerType::kPOOLING, as_layer},
    {LayerType::kLRN, as<ILRNLayer>},
    {LayerType::kSCALE, as<IScaleLayer>},
    {LayerType::kSOFTMAX, as<ISoftMaxLayer>},
    {LayerType::kDECONVOLUTION, as<IDeconvolutionLayer>},
    {LayerType::kCONCATENATION, as<IConcatenationLayer>},
    {LayerType::kELEMENTWISE, as<IElementWiseLayer>},
    {LayerType::kUNARY, as<IUnaryLayer>},
    {LayerType::kPADDING, as<IPaddingLayer>},
    {LayerType::kSHUFFLE, as<IShuffleLayer>},
    {LayerType::kREDUCE, as<IReduceLayer>},
    {LayerType::kTOPK, as<ITopKLayer>},
    {LayerType::kGATHER, as<IGatherLayer>},
    {LayerType::kMATRIX_MULTIPLY, as<IMatrixMultiplyLayer>},
    {LayerType::kRAGGED_SOFTMAX, as<IRaggedSoftMaxLayer>},
    {LayerType::kCONSTANT, as<IConstantLayer>},
    {LayerType::kIDENTITY, as<IIdentityLayer>},
    {LayerType::kPLUGIN_V2, as<IPluginV2Layer>},
    {LayerType::kSLICE, as<ISliceLayer>},
    {LayerType::kSHAPE, as<IShapeLayer>},
    {LayerType::kPARAMETRIC_RELU, as<IParametricReLULayer>},
    {LayerType::kRESIZE, as<IResizeLayer>},
    {LayerType::kTRIP_LIMIT, as<ITripLimitLayer>},
    {LayerType::kRECURRENCE, as<IRecurrenceLayer>},
    {LayerType::kITERATOR, as<IIteratorLayer>},
    {LayerType::kLOOP_OUTPUT, as<ILoopOutputLayer>},
    {LayerType::kSELECT, as<ISelectLayer>},
    {LayerType::kFILL, as<IFillLayer>},
    {LayerType::kQUANTIZE, as<IQuantizeLayer>},
    {LayerType::kDEQUANTIZE, as<IDequantizeLayer>},
    {LayerType::kCONDITION, as<IConditionLayer>},
    {LayerType::kCONDITIONAL_INPUT, as<IIfConditionalInputLayer>},
    {LayerType::kCONDITIONAL_OUTPUT, as<IIfConditionalOutputLayer>},
    {LayerType::kSCATTER, as<IScatterLayer>},
    {LayerType::kEINSUM, as<IEinsumLayer>},
    {LayerType::kASSERTION, as<IAssertionLayer>},
    {LayerType::kONE_HOT, as<IOneHotLayer>},
    {LayerType::kNON_ZERO, as<INonZeroLayer>},
    {LayerType::kGRID_SAMPLE, as<IGridSampleLayer>},
    {LayerType::kNMS, as<INMSLayer>},
    {LayerType::kREVERSE_SEQUENCE, as<IReverseSequenceLayer>},
    {LayerType::kNORMALIZATION, as<INormalizationLayer>},
    {LayerType::kPLUGIN_V3, as<IPluginV3Layer>},
    {LayerType::kSQUEEZE, as<ISqueezeLayer>},
    {LayerType::kUNSQUEEZE, as<IUnsqueezeLayer>},
    {LayerType::kCUMULATIVE, as<ICumulativeLayer>},
    {LayerType::kDYNAMIC_QUANTIZE, as<IDynamicQuantizeLayer>},
    {LayerType::kATTENTION_INPUT, as<IAttentionInputLayer>},
    {LayerType::kATTENTION_OUTPUT, as<IAttentionOutputLayer>},
    {LayerType::kROTARY_EMBEDDING, as<IRotaryEmbeddingLayer>},
    {LayerType::kKVCACHE_UPDATE, as<IKVCacheUpdateLayer>},
    {LayerType::kMOE, as<IMoELayer>},
    {LayerType::kDIST_COLLECTIVE, as<IDistCollectiveLayer>},
};

}  // namespace

nb::object typed(ILayer* layer, nb::handle network) {
  if (layer == nullptr) return nb::none();
  for (const Kind& kind : kKinds)
    if (kind.type == layer->getType()) return kind.as(layer, network);
  return wrap(layer, network);
}

nb::object network_of(nb::handle layer) {
  return nb::hasattr(layer, "_network") ? nb::object(layer.attr("_network")) : nb::borrow(layer);
}

std::vector<ITensor*> pointers(nb::sequence tensors) {
  std::vector<ITensor*> all;
  for (nb::handle t : tensors) {
    all.push_back(nullptr);
    if (!nb::try_cast(t, all.back())) throw nb::type_error("a list of tensors is wanted");
  }
  return all;
}

}  // namespace wootz_python
