// INetworkDefinition: the graph of layers that a builder turns into a plan.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include "wootz/error_recorder.h"
#include "wootz/layers.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/network_flags.h"
#include "wootz/tensor.h"

namespace nvinfer1 {

class IBuilder;

/// A graph of layers and tensors. Made by IBuilder::createNetworkV2, owned by the caller; its layers, tensors, loops
/// and the like are owned by it and die with it. Use it from one thread at a time, and leave it alone during a build.
///
/// Each add... method appends a layer and returns it, or returns null and logs when an argument is out of bounds by
/// itself. Whether shapes and types fit together is judged when they are asked for and when building. Weights are not
/// copied: their memory must stay until the network is built. Axes are counted from 0, with the batch as a dimension
/// like any other; sets of axes are bits 1U << axis. What a layer computes, its class describes.
class INetworkDefinition : public INoCopy {
 public:
  /// A network input: a distinct name, a type, and extents, -1 where they are open until run time.
  virtual ITensor* addInput(const char* name, DataType type, const Dims& dimensions) noexcept = 0;

  /// Makes a tensor an output of the network, under its name, which must be distinct; and undoes that.
  virtual void markOutput(ITensor& tensor) noexcept = 0;
  virtual void unmarkOutput(ITensor& tensor) noexcept = 0;

  /// Makes the values of a shape tensor an output that is known on the host once input shapes are set. False when the
  /// tensor cannot be one.
  virtual bool markOutputForShapes(ITensor& tensor) noexcept = 0;
  virtual bool unmarkOutputForShapes(ITensor& tensor) noexcept = 0;

  /// Removes a tensor from the inputs, outputs and debug tensors. Layers that use it need another one.
  virtual void removeTensor(ITensor& tensor) noexcept = 0;

  /// Network inputs in the order they were added; null when out of range.
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;

  /// Network outputs in the order they were marked; null when out of range.
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;

  /// Layers in the order they were added; null when out of range.
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual ILayer* getLayer(int32_t index) const noexcept = 0;

  /// Name of the network, copied, and the engine's name later; under 4096 bytes.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

  /// What createNetworkV2 was given, as bits or one by one.
  virtual NetworkDefinitionCreationFlags getFlags() const noexcept = 0;
  virtual bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept = 0;

  /// Always false.
  TRT_DEPRECATED virtual bool hasImplicitBatchDimension() const noexcept = 0;

  /// The builder it was made by.
  virtual IBuilder& getBuilder() const noexcept = 0;

  /// Where errors of this network are recorded; null, the default, for none. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  /// Two or three space dimensions, as many as kernelSize has extents. Weights may be empty where they come as inputs.
  virtual IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const Dims& kernelSize,
                                              Weights kernelWeights, Weights biasWeights) noexcept = 0;
  virtual IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims kernelSize,
                                                  Weights kernelWeights, Weights biasWeights) noexcept = 0;

  /// Two or three space dimensions, as many as windowSize has extents.
  virtual IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize) noexcept = 0;

  /// Functions of each element; an activation's alpha and beta are set on the layer.
  virtual IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept = 0;
  virtual IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept = 0;

  /// A function of two tensors of one type and rank; extents of 1 are stretched.
  virtual IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept = 0;

  /// Elements of one or the other, by a kBOOL tensor; extents of 1 are stretched.
  virtual ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept = 0;

  /// `slope` must broadcast to `input`.
  virtual IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept = 0;

  /// Softmax along one axis, set on the layer.
  virtual ISoftMaxLayer* addSoftMax(ITensor& input) noexcept = 0;

  /// Softmax over the first bounds[z] elements of each row.
  virtual IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept = 0;

  /// Scale, shift and power by constants, with the channel at axis 1 or at `channelAxis`. An empty one stands for 0
  /// (shift) or 1 (scale, power).
  virtual IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                Weights power) noexcept = 0;
  virtual IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power,
                                  int32_t channelAxis) noexcept = 0;

  /// Layer, instance and group normalization. Scale and bias are one-dimensional in the V2 form where they count
  /// channels; the older form wants them of the input's rank.
  virtual INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                  uint32_t axesMask) noexcept = 0;
  TRT_DEPRECATED virtual INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                                               uint32_t axesMask) noexcept = 0;

  /// Local response normalization over `window` channels.
  virtual ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept = 0;

  /// Reduction over the axes in `reduceAxes`.
  virtual IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                                  bool keepDimensions) noexcept = 0;

  /// The first k elements along one axis, with their indices, of type kINT32 or kINT64.
  TRT_DEPRECATED virtual ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                                             uint32_t reduceAxes) noexcept = 0;
  virtual ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                              DataType indicesType) noexcept = 0;

  /// Running sum along `axis`, a constant scalar.
  virtual ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation, bool exclusive,
                                          bool reverse) noexcept = 0;

  /// Product over the innermost dimensions, with a batch of the outer ones.
  virtual IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                                  MatrixOperation op1) noexcept = 0;

  /// Sum of products by an equation such as "ij,jk->ik".
  virtual IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept = 0;

  /// Elements of `data` at `indices`; the first form is kDEFAULT along `axis`.
  virtual IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept = 0;
  virtual IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept = 0;

  /// A copy of `data` with the elements at `indices` replaced.
  virtual IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept = 0;

  /// Positions of elements that are not zero, of type kINT32 or kINT64.
  TRT_DEPRECATED virtual INonZeroLayer* addNonZero(ITensor& input) noexcept = 0;
  virtual INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept = 0;

  /// A new axis on which an index becomes a one-hot vector.
  virtual IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept = 0;

  /// Transpose, reshape and transpose again, all set on the layer.
  virtual IShuffleLayer* addShuffle(ITensor& input) noexcept = 0;

  /// Elements start + i * stride, `size` of them along each axis.
  virtual ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size, const Dims& stride) noexcept = 0;

  /// Inputs one after the other along an axis set on the layer.
  virtual IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept = 0;

  /// Zeros around the last two dimensions, or parts of them cut off.
  virtual IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding, const Dims& postPadding) noexcept = 0;

  /// The input's extents, as a kINT64 shape tensor.
  virtual IShapeLayer* addShape(ITensor& input) noexcept = 0;

  /// Axes of extent 1 taken out or put in; `axes` is a constant shape tensor.
  virtual ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept = 0;
  virtual IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept = 0;

  /// The first sequenceLens[b] elements of each sequence in reverse.
  virtual IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept = 0;

  /// Fixed values, with no inputs.
  virtual IConstantLayer* addConstant(const Dims& dimensions, Weights weights) noexcept = 0;

  /// A tensor filled by rule. Without a type it is kFLOAT.
  WOOTZ_UNTIL_10
  TRT_DEPRECATED virtual IFillLayer* WOOTZ_OVERLOAD_UNTIL_10(addFill)(const Dims& dimensions,
                                                                      FillOperation op) noexcept = 0;

 public:
  virtual IFillLayer* addFill(const Dims& dimensions, FillOperation op, DataType outputType) noexcept = 0;

  /// Each element as another type.
  virtual ICastLayer* addCast(ITensor& input, DataType toType) noexcept = 0;

  /// The input unchanged.
  virtual IIdentityLayer* addIdentity(ITensor& input) noexcept = 0;

  /// Fails the build or the inference unless all of `condition`, a kBOOL shape tensor, is true.
  virtual IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept = 0;

  /// To or from a quantized type, with a scale per tensor, axis or block. Without a type: kINT8 for quantization,
  /// kFLOAT for dequantization, or what is set on the layer.
  WOOTZ_UNTIL_10
  TRT_DEPRECATED virtual IQuantizeLayer* WOOTZ_OVERLOAD_UNTIL_10(addQuantize)(ITensor& input,
                                                                              ITensor& scale) noexcept = 0;

 public:
  virtual IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept = 0;

  WOOTZ_UNTIL_10
  TRT_DEPRECATED virtual IDequantizeLayer* WOOTZ_OVERLOAD_UNTIL_10(addDequantize)(ITensor& input,
                                                                                  ITensor& scale) noexcept = 0;

 public:
  virtual IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept = 0;

  /// Quantization with scales found from the values of each block; the older form has blocks along one axis.
  virtual IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const Dims& blockShape, DataType outputType,
                                                      DataType scaleType) noexcept = 0;
  TRT_DEPRECATED virtual IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                                                   DataType outputType,
                                                                   DataType scaleType) noexcept = 0;

  /// Interpolation to extents or by scales set on the layer.
  virtual IResizeLayer* addResize(ITensor& input) noexcept = 0;

  /// Values of an image at the positions in `grid`.
  virtual IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept = 0;

  /// Non-maximum suppression of boxes, giving indices of type kINT32 or kINT64.
  TRT_DEPRECATED virtual INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                                           ITensor& maxOutputBoxesPerClass) noexcept = 0;
  virtual INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                            DataType indicesType) noexcept = 0;

  /// Attention, from queries, keys and values, computed as one where possible.
  WOOTZ_DEPRECATED_SINCE_11 virtual IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                                                             AttentionNormalizationOp normOp, bool causal) noexcept = 0;

  WOOTZ_SINCE_11
  /// The same, with a mask of a kind.
  virtual IAttention* addAttentionV2(ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
                                     CausalMaskKind causalKind) noexcept = 0;

 public:
  /// Rotation of pairs of elements by position; rotaryEmbeddingDim 0 is the whole width.
  virtual IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                                    bool interleaved, int32_t rotaryEmbeddingDim) noexcept = 0;

  /// New keys or values written into a cache, in place.
  virtual IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                                KVCacheMode cacheMode) noexcept = 0;

  /// Mixture of experts; weights and activation are set on the layer.
  virtual IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                            ITensor& scoresForSelectedExperts) noexcept = 0;

  /// What several devices compute together, each with its own `input`; ILayer::setNbRanks says how many there are.
  /// `reduceOp` is kNONE for operations that do not reduce. `root`: the rank that has, or gets, all of it; -1 for
  /// operations without one. `groups`: the ranks that take part, in their order, of which `root` is one; null: all.
  virtual IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                                  ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                                  int64_t groupSize) noexcept = 0;

  /// Parts of the network that repeat, or that run only under a condition. Null on failure.
  virtual ILoop* addLoop() noexcept = 0;
  virtual IIfConditional* addIfConditional() noexcept = 0;

  /// A layer run by a plugin, of which the network keeps a clone. `inputs` may hold null for optional ones. Elements of
  /// the `shapeInputs` decide extents only: the plugin meets them in getOutputShapes, and nowhere else.
  virtual IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                                      int32_t nbShapeInputs, IPluginV3& plugin) noexcept = 0;
  /// The same for a V2 plugin. Where extents are open until run time, it derives from IPluginV2DynamicExt.
  TRT_DEPRECATED virtual IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                                     IPluginV2& plugin) noexcept = 0;

  /// A name, copied, by which a refitter finds these weights: those with this address, count and type. False when no
  /// layer has them.
  virtual bool setWeightsName(Weights weights, const char* name) noexcept = 0;

  /// Which weights can be refitted, by name, with BuilderFlag::kREFIT_INDIVIDUAL. False for an unknown name.
  virtual bool markWeightsRefittable(const char* name) noexcept = 0;
  virtual bool unmarkWeightsRefittable(const char* name) noexcept = 0;
  virtual bool areWeightsMarkedRefittable(const char* name) const noexcept = 0;

  /// Makes a tensor's value visible to an IDebugListener, even where fusion would remove it. False for an input.
  virtual bool markDebug(ITensor& tensor) noexcept = 0;
  virtual bool unmarkDebug(ITensor& tensor) noexcept = 0;
  virtual bool isDebugTensor(const ITensor& tensor) const noexcept = 0;

  /// Makes visible the values that are left between steps after fusion, and only those.
  virtual bool markUnfusedTensorsAsDebugTensors() noexcept = 0;
  virtual bool unmarkUnfusedTensorsAsDebugTensors() noexcept = 0;
};

}  // namespace nvinfer1
