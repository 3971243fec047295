// The only translation unit that contains volk's function pointers and its loader code.
#define VOLK_IMPLEMENTATION
#include <volk.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// Drivers stay loaded where leaks are looked for (Mesa 22.3.6 holds what it allocates once in globals of its
/// own, and that counts as lost when the driver is unloaded).
extern "C" int dlclose(void* /*library*/) noexcept {
    return 0;
}
#endif
#endif
