// One source for structs that host and shader share: GLSL includes it as it is, C++ through core/kernels.
// ADDRESS(T) is a buffer reference to T in GLSL and a 64-bit device address in C++. Addresses come first in a struct, so
// that both languages lay it out alike; core/kernels asserts the sizes.
#ifdef __cplusplus
#include <cstdint>
#define ADDRESS(type) uint64_t
namespace etna::shaders {
using uint = uint32_t;
}
#else
#define ADDRESS(type) type
#endif
