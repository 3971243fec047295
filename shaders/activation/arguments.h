#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct GateMultiplyArguments {
    ADDRESS(Vectors) gate; // of the first row of this dispatch
    ADDRESS(Vectors) up;
    ADDRESS(Floats) gate_bias; // [expert][columns]; both biases and experts are read only with BIASES
    ADDRESS(Floats) up_bias;
    ADDRESS(Words) experts; // [row], of the first row of this dispatch
    ADDRESS(Words) words;   // the gate's halves, of the first row of this dispatch, written with HALVES
    ADDRESS(Floats) floats; // the same memory
    ADDRESS(Floats) row_gate; // [row][row_gate_stride], of the first row of this dispatch, read only with ROW_GATE
    uint columns;
    uint gate_stride; // strides in vec4
    uint up_stride;
    uint expert_count;
    uint row_gate_stride; // in elements
    uint unused;
};
struct SoftCapArguments {
    ADDRESS(Floats) x;
    uint columns;
    uint stride;
    float cap;
    uint unused;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
