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

/// A no-op of any signature: leaves outputs unchanged and returns success if it returns a VkResult.
template <class Result, class... Arguments>
void replace_by_no_op(Result(VKAPI_PTR*& function)(Arguments...)) {
    function = [](Arguments...) -> Result { return Result(); };
}
static_assert(VkResult() == VK_SUCCESS);

} // namespace

const char* const install_hint =
    "install the GPU's own driver, or the free ones, with one that runs on the CPU: "
    "`apt install libvulkan1 mesa-vulkan-drivers` (Debian, Ubuntu), "
    "`dnf install vulkan-loader mesa-vulkan-drivers` (Fedora), "
    "`pacman -S vulkan-icd-loader vulkan-swrast` (Arch), "
    "`zypper install libvulkan1 libvulkan_lvp` (openSUSE)";

Status open_loader() {
    static const VkResult opened = has_entry() ? volkInitialize() : VK_ERROR_INITIALIZATION_FAILED;
    if (opened != VK_SUCCESS) {
        return Error{ErrorKind::no_device, "the Vulkan loader (libvulkan.so.1) cannot be opened",
                     install_hint};
    }
    const uint32_t version = volkGetInstanceVersion();
    if (version < VK_API_VERSION_1_2) {
        return unsupported(fmt::format("the Vulkan loader has version {}.{}; 1.2 is required",
                                       VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)),
                           install_hint);
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

void discard_commands(VolkDeviceTable& functions) {
    replace_by_no_op(functions.vkCreateSemaphore);
    replace_by_no_op(functions.vkDestroySemaphore);
    replace_by_no_op(
        functions.vkGetSemaphoreCounterValue); // nothing is submitted, and all of it has completed
    replace_by_no_op(functions.vkWaitSemaphores);
    replace_by_no_op(functions.vkDeviceWaitIdle);
    functions.vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) -> VkResult {
        return VK_ERROR_FEATURE_NOT_PRESENT;
    };
    replace_by_no_op(functions.vkCreateCommandPool);
    replace_by_no_op(functions.vkDestroyCommandPool);
    replace_by_no_op(functions.vkResetCommandPool);
    replace_by_no_op(functions.vkAllocateCommandBuffers);
    replace_by_no_op(functions.vkBeginCommandBuffer);
    replace_by_no_op(functions.vkEndCommandBuffer);
    replace_by_no_op(functions.vkCreateQueryPool);
    replace_by_no_op(functions.vkDestroyQueryPool);
    replace_by_no_op(functions.vkGetQueryPoolResults);
    replace_by_no_op(functions.vkCmdResetQueryPool);
    replace_by_no_op(functions.vkCmdWriteTimestamp);
    replace_by_no_op(functions.vkCmdPipelineBarrier);
    replace_by_no_op(functions.vkCmdBindPipeline);
    replace_by_no_op(functions.vkCmdPushConstants);
    replace_by_no_op(functions.vkCmdDispatch);
    replace_by_no_op(functions.vkCmdCopyBuffer);
    replace_by_no_op(functions.vkCmdFillBuffer);
}

} // namespace etna::vk
