#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct GateMultiplyArguments {
    ADDRESS(Floats) gate; // of the first row of this dispatch
    ADDRESS(Floats) up;
    uint columns;
    uint gate_stride;
    uint up_stride;
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
