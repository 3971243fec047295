// The only translation unit that contains volk's function pointers and its loader code.
#define VOLK_IMPLEMENTATION
#include <volk.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// Drivers stay loaded under the leak checker: Mesa 22.3.6 keeps one-time allocations in its globals, which
/// would count as leaks once the driver is unloaded.
extern "C" int dlclose(void* /*library*/) noexcept {
    return 0;
}
#endif
#endif
