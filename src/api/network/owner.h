// What tensors and layers ask of the network that they belong to.
#pragma once

#include "api/runtime/reporter.h"
#include "base/status.h"
#include "ir/graph.h"

namespace wootz::api {

class LayerCore;
class TensorImpl;

class Owner {
 public:
  virtual const Reporter& reporter() const = 0;
  virtual bool strongly_typed() const = 0;
  // The tensor that a public pointer is to. Errors: null, or of another network.
  virtual Result<TensorImpl*> own(const nvinfer1::ITensor* tensor, const char* what = "the tensor") const = 0;
  // Something that an emission goes by has changed; null: anything.
  virtual void changed(const LayerCore* layer) = 0;
  virtual void renamed(const TensorImpl& tensor) = 0;
  virtual void renamed(const LayerCore& layer) = 0;
  // The value of a tensor in a graph kept for queries. Reports a failure once. `elements`: of an integer tensor, with
  // what is known of its elements if any small input of integers may decide shapes.
  virtual const Value* query(const TensorImpl* tensor, bool elements = false) const = 0;
  // Whether an input's values decide shapes somewhere in the network.
  virtual bool decides_shapes(const TensorImpl* input) const = 0;

 protected:
  ~Owner() = default;
};

}  // namespace wootz::api
