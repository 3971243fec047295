// Stands in for libvulkan.so.1 in tests: passes everything on to the real loader, the file that
// ETNA_TEST_VULKAN_LOADER names, but aborts if vkGetInstanceProcAddr gets an instance that does not exist
// (any more). Loaders from 1.4.363 on abort there too; older ones answer.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <dlfcn.h>
#include <vulkan/vulkan.h>

namespace {

std::mutex mutex;
std::set<VkInstance> instances;

PFN_vkGetInstanceProcAddr real_entry() {
    static const auto entry = [] {
        const char* path = std::getenv("ETNA_TEST_VULKAN_LOADER");
        void* library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            std::fputs("ETNA_TEST_VULKAN_LOADER names no library\n", stderr);
            std::abort();
        }
        return reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    }();
    return entry;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator, VkInstance* instance) {
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(real_entry()(nullptr, "vkCreateInstance"));
    const VkResult result = create(info, allocator, instance);
    const std::scoped_lock lock(mutex);
    if (result == VK_SUCCESS)
        instances.insert(*instance);
    return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(real_entry()(instance, "vkDestroyInstance"));
    {
        const std::scoped_lock lock(mutex);
        instances.erase(instance);
    }
    destroy(instance, allocator);
}

} // namespace

extern "C" [[gnu::visibility("default")]] VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
    {
        const std::scoped_lock lock(mutex);
        if (instance != VK_NULL_HANDLE && !instances.contains(instance)) {
            std::fprintf(stderr, "vkGetInstanceProcAddr(%s): the instance does not exist\n", name);
            std::abort();
        }
    }
    if (std::strcmp(name, "vkCreateInstance") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
    if (std::strcmp(name, "vkDestroyInstance") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(destroy_instance);
    return real_entry()(instance, name);
}
