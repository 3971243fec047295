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
#ifdef __cplusplus
} // namespace etna::shaders
#endif
