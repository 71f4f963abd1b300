// Forward declarations of the classes and flag types that clients name, so that each can be mentioned after any
// umbrella header.
#pragma once

#include <cstdint>

#include "wootz/level.h"
#include "wootz/logger_forward.h"

namespace nvinfer1 {

class IActivationLayer;
class IAlgorithm;
class IAlgorithmContext;
class IAlgorithmIOInfo;
class IAlgorithmVariant;
class IAssertionLayer;
class IAttention;
class IAttentionBoundaryLayer;
class IAttentionInputLayer;
class IAttentionOutputLayer;
class IBuilder;
class IBuilderConfig;
class ICastLayer;
class IConcatenationLayer;
class IConditionLayer;
class IConstantLayer;
class IConvolutionLayer;
class ICudaEngine;
class ICumulativeLayer;
class IDeconvolutionLayer;
class IDequantizeLayer;
class IDimensionExpr;
class IDistCollectiveLayer;
class IDynamicQuantizeLayer;
class IEinsumLayer;
class IElementWiseLayer;
class IEngineInspector;
class IExecutionContext;
class IExprBuilder;
class IFillLayer;
class IGatherLayer;
class IGridSampleLayer;
class IHostMemory;
class IIdentityLayer;
class IIfConditional;
class IIfConditionalBoundaryLayer;
class IIfConditionalInputLayer;
class IIfConditionalOutputLayer;
class IIteratorLayer;
class IKVCacheUpdateLayer;
class ILRNLayer;
class ILayer;
class ILoop;
class ILoopBoundaryLayer;
class ILoopOutputLayer;
class IMatrixMultiplyLayer;
class IMoELayer;
class INMSLayer;
class INetworkDefinition;
class INonZeroLayer;
class INormalizationLayer;
class IOneHotLayer;
class IOptimizationProfile;
class IPaddingLayer;
class IParametricReLULayer;
class IPluginRegistry;
class IPluginV2;
class IPluginV2DynamicExt;
class IPluginV2Ext;
class IPluginV2IOExt;
class IPluginV2Layer;
class IPluginV3Layer;
class IPoolingLayer;
class IQuantizeLayer;
class IRaggedSoftMaxLayer;
class IRecurrenceLayer;
class IReduceLayer;
class IRefitter;
class IResizeLayer;
class IReverseSequenceLayer;
class IRotaryEmbeddingLayer;
class IRuntime;
class IRuntimeConfig;
class IScaleLayer;
class IScatterLayer;
class ISelectLayer;
class ISerializationConfig;
class IShapeLayer;
class IShuffleLayer;
class ISliceLayer;
class ISoftMaxLayer;
class ISqueezeLayer;
class ITensor;
class ITimingCache;
class ITopKLayer;
class ITripLimitLayer;
class IUnaryLayer;
class IUnsqueezeLayer;

namespace v_1_0 {
class IDebugListener;
class IGpuAllocator;
class IGpuAsyncAllocator;
class IOutputAllocator;
class IPluginCapability;
class IPluginCreator;
class IPluginCreatorInterface;
class IPluginCreatorV3One;
class IPluginResource;
class IPluginV3;
class IProfiler;
class IProgressMonitor;
class IStreamReader;
class IStreamReaderV2;
class IStreamWriter;
class TimingCacheKey;
class TimingCacheValue;
}  // namespace v_1_0

using IDebugListener = v_1_0::IDebugListener;
using IGpuAllocator = v_1_0::IGpuAllocator;
using IGpuAsyncAllocator = v_1_0::IGpuAsyncAllocator;
using IOutputAllocator = v_1_0::IOutputAllocator;
using IPluginCapability = v_1_0::IPluginCapability;
using IPluginCreator = v_1_0::IPluginCreator;
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;
using IPluginCreatorV3One = v_1_0::IPluginCreatorV3One;
using IPluginResource = v_1_0::IPluginResource;
using IPluginV3 = v_1_0::IPluginV3;
using IProfiler = v_1_0::IProfiler;
using IProgressMonitor = v_1_0::IProgressMonitor;
using IStreamReader = v_1_0::IStreamReader;
using IStreamReaderV2 = v_1_0::IStreamReaderV2;
using IStreamWriter = v_1_0::IStreamWriter;
using TimingCacheKey = v_1_0::TimingCacheKey;
using TimingCacheValue = v_1_0::TimingCacheValue;

#if NV_TENSORRT_MAJOR < 11
class IInt8Calibrator;
namespace v_1_0 {
class IAlgorithmSelector;
class IInt8EntropyCalibrator;
class IInt8EntropyCalibrator2;
class IInt8LegacyCalibrator;
class IInt8MinMaxCalibrator;
}  // namespace v_1_0
using IAlgorithmSelector = v_1_0::IAlgorithmSelector;
using IInt8EntropyCalibrator = v_1_0::IInt8EntropyCalibrator;
using IInt8EntropyCalibrator2 = v_1_0::IInt8EntropyCalibrator2;
using IInt8LegacyCalibrator = v_1_0::IInt8LegacyCalibrator;
using IInt8MinMaxCalibrator = v_1_0::IInt8MinMaxCalibrator;
using QuantizationFlags = uint32_t;
#endif

using BuilderFlags = uint32_t;
using NetworkDefinitionCreationFlags = uint32_t;
using SerializationFlags = uint32_t;
using TacticSources = uint32_t;
using TempfileControlFlags = uint32_t;
using TensorFormats = uint32_t;

}  // namespace nvinfer1
