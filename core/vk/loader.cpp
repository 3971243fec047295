#include "core/vk/loader.hpp"

#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

namespace etna::vk {
namespace {

std::mutex loaded_instance_mutex;
VkInstance loaded_instance = VK_NULL_HANDLE; ///< that volk's pointers were loaded from

/// Whether the library that volk will open is a Vulkan loader: volk calls its entry point unchecked.
bool has_entry() {
    for (const char* name : {"libvulkan.so.1", "libvulkan.so"}) {
        if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
            const bool found = ::dlsym(library, "vkGetInstanceProcAddr") != nullptr;
            ::dlclose(library); // volk opens it again
            return found;
        }
    }
    return false;
}

} // namespace

const char* const install_hint =
    "install the GPU's own driver; on Debian and Ubuntu the free ones and one that runs on the CPU "
    "come with `apt install libvulkan1 mesa-vulkan-drivers`";

Status open_loader() {
    static const VkResult opened = has_entry() ? volkInitialize() : VK_ERROR_INITIALIZATION_FAILED;
    if (opened != VK_SUCCESS) {
        return Error{ErrorKind::no_device, "the Vulkan loader (libvulkan.so.1) cannot be opened",
                     install_hint};
    }
    const uint32_t version = volkGetInstanceVersion();
    if (version < VK_API_VERSION_1_2) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the Vulkan loader is version {}.{}, and 1.2 is needed",
                                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)),
                     install_hint};
    }
    return {};
}

void load_instance_functions(VkInstance instance) {
    const std::scoped_lock lock(loaded_instance_mutex);
    if (loaded_instance != VK_NULL_HANDLE)
        return;
    volkLoadInstanceOnly(instance);
    loaded_instance = instance;
}

void forget_instance(VkInstance instance) {
    const std::scoped_lock lock(loaded_instance_mutex);
    if (loaded_instance == instance)
        loaded_instance = VK_NULL_HANDLE;
}

} // namespace etna::vk
