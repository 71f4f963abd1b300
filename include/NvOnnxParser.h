// The ONNX parser.
#ifndef NV_ONNX_PARSER_H
#define NV_ONNX_PARSER_H

#include "NvInfer.h"
#include "wootz/parser.h"
#include "wootz/parser_error.h"
#include "wootz/parser_factory.h"
#include "wootz/parser_refitter.h"
#include "wootz/subgraph.h"

#endif  // NV_ONNX_PARSER_H
