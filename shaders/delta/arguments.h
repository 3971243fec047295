#include "shaders/include/shared.h"
#ifdef __cplusplus
#pragma once
namespace etna::shaders {
#endif
struct ShortConvolutionArguments {
    ADDRESS(SequenceInfos) sequences;
    ADDRESS(Floats) x;
    ADDRESS(Floats) y;
    ADDRESS(Floats) weight;
    ADDRESS(Floats) bias; // read when USE_BIAS != 0
    ADDRESS(Floats) ring;
    uint channels;
    uint x_stride;
    uint y_stride;
    uint ring_length; // of the ring: a power of two
    uint slots;
    uint rows; // of the batch: first_row and row_count are clamped to them
};
const uint delta_values = 16u; // of a head's values, in one workgroup of delta_net
struct DeltaNetArguments {
    ADDRESS(SequenceInfos) sequences;
    ADDRESS(Floats) qkv;
    ADDRESS(Floats) a;
    ADDRESS(Floats) b;
    ADDRESS(Floats) decay;
    ADDRESS(Floats) dt_bias;
    ADDRESS(Floats) state;
    ADDRESS(Floats) pending;
    ADDRESS(Floats) o;
    uint qkv_stride;
    uint a_stride;
    uint b_stride;
    uint o_stride;
    uint a_first; // column of the first head's a
    uint b_first;
    uint gate_run; // heads whose a (and b) are neighbours
    uint value_heads;
    uint key_heads;
    uint slots;
    uint rows; // of the batch: first_row and row_count are clamped to them
    float length_epsilon;
};
struct GatedRmsNormArguments {
    ADDRESS(Floats) x; // x, z: of the first row of this dispatch
    ADDRESS(Floats) z;
    ADDRESS(Floats) weight;
    uint head_dim;
    uint x_stride;
    uint z_stride;
    float epsilon;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
