#include "core/vk/inspection.hpp"

namespace etna::vk {
namespace {

/// A no-op of any signature: leaves outputs unchanged and returns success if it returns a VkResult.
template <class Result, class... Arguments>
void leave_out(Result(VKAPI_PTR*& function)(Arguments...)) {
    function = [](Arguments...) -> Result { return Result(); };
}
static_assert(VkResult() == VK_SUCCESS);

} // namespace

void leave_out_commands(VolkDeviceTable& functions) {
    leave_out(functions.vkCreateSemaphore);
    leave_out(functions.vkDestroySemaphore);
    leave_out(functions.vkGetSemaphoreCounterValue); // nothing is submitted, and all of it has completed
    leave_out(functions.vkWaitSemaphores);
    leave_out(functions.vkDeviceWaitIdle);
    functions.vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) -> VkResult {
        return VK_ERROR_FEATURE_NOT_PRESENT;
    };
    leave_out(functions.vkCreateCommandPool);
    leave_out(functions.vkDestroyCommandPool);
    leave_out(functions.vkResetCommandPool);
    leave_out(functions.vkAllocateCommandBuffers);
    leave_out(functions.vkBeginCommandBuffer);
    leave_out(functions.vkEndCommandBuffer);
    leave_out(functions.vkCreateQueryPool);
    leave_out(functions.vkDestroyQueryPool);
    leave_out(functions.vkGetQueryPoolResults);
    leave_out(functions.vkCmdResetQueryPool);
    leave_out(functions.vkCmdWriteTimestamp);
    leave_out(functions.vkCmdPipelineBarrier);
    leave_out(functions.vkCmdBindPipeline);
    leave_out(functions.vkCmdPushConstants);
    leave_out(functions.vkCmdDispatch);
    leave_out(functions.vkCmdCopyBuffer);
    leave_out(functions.vkCmdFillBuffer);
}

} // namespace etna::vk
