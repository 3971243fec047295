// The one translation unit that holds volk's function pointers and its opening of the loader.
#define VOLK_IMPLEMENTATION
#include <volk.h>
