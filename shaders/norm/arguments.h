#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct RmsNormArguments {
    ADDRESS(Vectors) x;
    ADDRESS(Vectors) y;
    ADDRESS(Vectors) weight;
    ADDRESS(Words) indices; // read when use_indices != 0
    ADDRESS(Words) nan_probes;  // [x_rows], written when nan_probe != NO_NAN_PROBE
    ADDRESS(Words) words;   // y as blocks of halves, written with HALVES
    ADDRESS(Floats) floats; // the same memory
    ADDRESS(Floats) scale;  // [1], read when use_scale != 0
    uint columns; // of a group
    uint x_stride;
    uint y_stride;
    uint x_first;
    uint y_first;
    uint x_rows; // indices are clamped to it
    uint use_indices;
    float epsilon;
    uint add; // 1: y += ...
    uint nan_probe;
    uint use_scale; // 1: y is multiplied by scale, after the addition
    float factor; // multiplies y, after the addition
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
