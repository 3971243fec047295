#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct LinearArguments {
    ADDRESS(Words) weights;
    ADDRESS(Quads) quads; // the weights again, for 16-byte loads: some drivers fail on reference casts
    ADDRESS(Words) scales;
    ADDRESS(InputElements) x;    // Vectors or Floats; of the first row of this dispatch
    ADDRESS(Floats) y;  // of the first row of this dispatch
    ADDRESS(Floats) bias; // read when use_bias != 0
    uint rows;    // of the weight, elements of y
    uint columns; // of the weight, padded to a multiple of 32
    uint count;   // rows of x
    uint x_stride; // in vec4
    uint y_stride;
    uint add;     // 1: y += W x
    uint use_bias;
};
struct LinearTilesArguments {
    ADDRESS(Quads) weights;
    ADDRESS(Quads) x;     // blocks of halves (include/halves.glsl), of the first row of this dispatch
    ADDRESS(Floats) y;    // of the first row of this dispatch
    ADDRESS(Floats) bias; // read when use_bias != 0
    uint rows;    // of the weight, elements of y
    uint tiles;   // of a group of eight rows
    uint count;   // rows of x
    uint y_stride;
    uint add;     // 1: y += W x
    uint use_bias;
};
struct HalveArguments {
    ADDRESS(Vectors) x; // x, y: of the first row of this dispatch
    ADDRESS(Floats) y;
    ADDRESS(Words) words; // y again
    uint blocks;   // of a row
    uint x_stride; // in vec4
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
