// Parameters of detection plugins, as plain data: pointers are the caller's, and counts go with the arrays they name.
#pragma once

#include <cstdint>

#include "wootz/macros.h"

namespace nvinfer1 {
namespace plugin {

/// Default boxes for each position of a feature map.
struct PriorBoxParameters {
  float* minSize;
  float* maxSize;
  float* aspectRatios;
  int32_t numMinSize;
  int32_t numMaxSize;
  int32_t numAspectRatios;
  bool flip;
  bool clip;
  float variance[4];
  int32_t imgH;
  int32_t imgW;
  float stepH;
  float stepW;
  float offset;
};

/// Region proposals, with pooling of the regions.
struct RPROIParams {
  int32_t poolingH;
  int32_t poolingW;
  int32_t featureStride;
  int32_t preNmsTop;
  int32_t nmsMaxOut;
  int32_t anchorsRatioCount;
  int32_t anchorsScaleCount;
  float iouThreshold;
  float minBoxSize;
  float spatialScale;
};

/// Anchor boxes for each cell of a grid of H by W.
struct GridAnchorParameters {
  float minSize;
  float maxSize;
  float* aspectRatios;
  int32_t numAspectRatios;
  int32_t H;
  int32_t W;
  float variance[4];
};

#if NV_TENSORRT_MAJOR < 11
/// How boxes are written.
enum class CodeTypeSSD : int32_t {
  CORNER TRT_DEPRECATED_ENUM = 0,
  CENTER_SIZE TRT_DEPRECATED_ENUM = 1,
  CORNER_SIZE TRT_DEPRECATED_ENUM = 2,
  TF_CENTER TRT_DEPRECATED_ENUM = 3,
};

/// Decoding and suppression of boxes; superseded by INMSLayer.
struct TRT_DEPRECATED DetectionOutputParameters {
  bool shareLocation;
  bool varianceEncodedInTarget;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float confidenceThreshold;
  float nmsThreshold;
  CodeTypeSSD codeType;
  int32_t inputOrder[3];
  bool confSigmoid;
  bool isNormalized;
  bool isBatchAgnostic{true};
};
#endif

/// Classes as a tree, with a softmax over each group of siblings.
struct softmaxTree {
  int32_t* leaf;
  int32_t n;
  int32_t* parent;
  int32_t* child;
  int32_t* group;
  char** name;
  int32_t groups;
  int32_t* groupSize;
  int32_t* groupOffset;
};

/// Region layer of YOLO; smTree may be null.
struct RegionParameters {
  int32_t num;
  int32_t coords;
  int32_t classes;
  softmaxTree* smTree;
};

#if NV_TENSORRT_MAJOR < 11
/// Suppression of boxes; superseded by INMSLayer.
struct TRT_DEPRECATED NMSParameters {
  bool shareLocation;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float scoreThreshold;
  float iouThreshold;
  bool isNormalized;
};
#endif

}  // namespace plugin
}  // namespace nvinfer1
