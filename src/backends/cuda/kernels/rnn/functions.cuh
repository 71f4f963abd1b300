// Activations of recurrent networks, alpha and beta where they have them.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct RnnRelu {
  static W_M float of(float x, float, float) { return w_relu<float>(x); }
};

struct RnnTanh {
  static W_M float of(float x, float, float) { return w_tanh(x); }
};

struct RnnSigmoid {
  static W_M float of(float x, float, float) { return w_sigmoid(x); }
};

struct RnnAffine {
  static W_M float of(float x, float alpha, float beta) { return alpha * x + beta; }
};

struct RnnLeakyRelu {
  static W_M float of(float x, float alpha, float) { return x < 0 ? alpha * x : x; }
};

struct RnnThresholdedRelu {
  static W_M float of(float x, float alpha, float) { return x > alpha ? x : 0.0f; }
};

struct RnnScaledTanh {
  static W_M float of(float x, float alpha, float beta) { return alpha * w_tanh(beta * x); }
};

struct RnnHardSigmoid {
  static W_M float of(float x, float alpha, float beta) { return w_clip<float>(alpha * x + beta, 0.0f, 1.0f); }
};

struct RnnElu {
  static W_M float of(float x, float alpha, float) { return w_elu<float>(x, alpha); }
};

struct RnnSoftsign {
  static W_M float of(float x, float, float) { return x / (1.0f + w_abs<float>(x)); }
};

struct RnnSoftplus {
  static W_M float of(float x, float, float) { return w_softplus<float>(x); }
};
