#include "core/vk/recorder.hpp"

#include "core/vk/buffer_content.hpp"
#include "core/vk/commands_content.hpp"
#include "core/vk/error.hpp"
#include "core/vk/hazards.hpp"
#include "core/vk/pipeline_content.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {

CommandBuffer::CommandBuffer(std::unique_ptr<Content> content) : content_(std::move(content)) {}
CommandBuffer::CommandBuffer(CommandBuffer&&) noexcept = default;
CommandBuffer& CommandBuffer::operator=(CommandBuffer&&) noexcept = default;
CommandBuffer::~CommandBuffer() = default;

uint32_t CommandBuffer::barrier_count() const {
    return content_->barrier_count;
}
uint32_t CommandBuffer::dispatch_count() const {
    return content_->dispatch_count;
}

struct Recorder::Content {
    Device::Content* device = nullptr;
    std::unique_ptr<CommandBuffer::Content> commands;
    RecorderOptions options;
    std::optional<Error> error;
    HazardCheck hazards;
    std::vector<std::string> regions;
    VkPipeline bound = VK_NULL_HANDLE;

    [[nodiscard]] const VolkDeviceTable& functions() const { return device->device.functions; }
    [[nodiscard]] VkCommandBuffer buffer() const { return commands->slot->buffer; }

    void fail(Error failure) {
        if (!error)
            error = std::move(failure);
    }
    void refuse(std::string message) { fail({ErrorKind::invalid_argument, std::move(message)}); }

    void global_barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_access) const;
    bool check_dispatch(const Dispatch& dispatch, const Pipeline::Content& pipeline);
    bool check_hazards(std::string_view label, std::span<const Range> reads, std::span<const Range> writes);
    bool check_part(std::string_view step, const Buffer::Content* part_of, uint64_t offset, uint64_t bytes);
    bool begin_timing(const std::string& label);
    void write_timestamp(uint32_t end) const;
};

namespace {

constexpr VkPipelineStageFlags work_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags work_writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags work_access = work_writes | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

} // namespace

void Recorder::Content::global_barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_access) const {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = work_writes;
    barrier.dstAccessMask = to_access;
    functions().vkCmdPipelineBarrier(buffer(), work_stages, to_stages, 0, 1, &barrier, 0, nullptr, 0,
                                     nullptr);
}

bool Recorder::Content::check_dispatch(const Dispatch& dispatch, const Pipeline::Content& pipeline) {
    if (dispatch.push_constants.size() != pipeline.push_constant_bytes) {
        refuse(fmt::format("dispatch of `{}` with {} bytes of push constants instead of {}", pipeline.label,
                           dispatch.push_constants.size(), pipeline.push_constant_bytes));
        return false;
    }
    for (size_t axis = 0; axis < dispatch.groups.size(); ++axis) {
        const uint32_t limit = device->profile.workgroup_count_max[axis];
        if (dispatch.groups[axis] != 0 && dispatch.groups[axis] <= limit)
            continue;
        refuse(fmt::format("dispatch of `{}` with {} x {} x {} workgroups; each count must be from 1 to {}",
                           pipeline.label, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                           limit));
        return false;
    }
    return check_hazards(pipeline.label, dispatch.reads, dispatch.writes);
}

bool Recorder::Content::check_hazards(std::string_view label, std::span<const Range> reads,
                                      std::span<const Range> writes) {
    if constexpr (hazard_checks) {
        if (auto checked = hazards.add(label, reads, writes); !checked) {
            fail(std::move(checked).error());
            return false;
        }
    }
    return true;
}

bool Recorder::Content::check_part(std::string_view step, const Buffer::Content* part_of, uint64_t offset,
                                   uint64_t bytes) {
    if (part_of == nullptr) {
        refuse(fmt::format("{} with an empty buffer", step));
        return false;
    }
    if (offset > part_of->bytes || bytes > part_of->bytes - offset) {
        refuse(fmt::format("{} of {} bytes at offset {} is outside buffer `{}` of {} bytes", step, bytes,
                           offset, part_of->label, part_of->bytes));
        return false;
    }
    return true;
}

bool Recorder::Content::begin_timing(const std::string& label) {
    CommandContext& slot = *commands->slot;
    const size_t number = slot.timed.size();
    const size_t pool = number / CommandContext::timed_per_query_pool;
    if (pool == slot.query_pools.size()) {
        if (auto added = device->slots->add_query_pool(slot); !added) {
            fail(std::move(added).error());
            return false;
        }
    }
    if (number % CommandContext::timed_per_query_pool == 0) {
        functions().vkCmdResetQueryPool(buffer(), slot.query_pools[pool], 0,
                                        2 * CommandContext::timed_per_query_pool);
    }
    std::string path;
    for (const std::string& region : regions)
        path += region + "/";
    slot.timed.push_back(path + label);
    write_timestamp(0);
    return true;
}

void Recorder::Content::write_timestamp(uint32_t end) const {
    const CommandContext& slot = *commands->slot;
    const auto number = static_cast<uint32_t>(slot.timed.size() - 1);
    // The compute stage for the start too: at the top of the pipe it would count the wait for the step
    // before.
    functions().vkCmdWriteTimestamp(buffer(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                    slot.query_pools[number / CommandContext::timed_per_query_pool],
                                    2 * (number % CommandContext::timed_per_query_pool) + end);
}

Recorder::Recorder(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;
Recorder::~Recorder() = default;

Result<Recorder> Recorder::create(Device& device, const RecorderOptions& options) {
    auto content = std::make_unique<Content>();
    content->device = &device.content();
    content->options = options;
    content->options.timestamps = options.timestamps && device.profile().timestamp_period_ns > 0;
    content->device->collect();
    content->commands = std::make_unique<CommandBuffer::Content>();
    content->commands->device = content->device;
    ETNA_TRY(content->commands->slot, content->device->slots->take());
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult begun = content->functions().vkBeginCommandBuffer(content->buffer(), &info);
    if (begun != VK_SUCCESS)
        return vulkan_error(begun, "beginning a command buffer");
    // After everything submitted before; host writes are made visible by the submission itself.
    content->global_barrier(work_stages, work_access);
    return Recorder(std::move(content));
}

void Recorder::dispatch(const Dispatch& dispatch) {
    const Pipeline::Content& pipeline = *dispatch.pipeline.content_;
    if (content_->error || !content_->check_dispatch(dispatch, pipeline))
        return;
    if (content_->options.timestamps && !content_->begin_timing(pipeline.label))
        return;
    const VolkDeviceTable& functions = content_->functions();
    VkCommandBuffer const buffer = content_->buffer();
    if (content_->bound != pipeline.handle)
        functions.vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    content_->bound = pipeline.handle;
    if (pipeline.push_constant_bytes != 0) {
        functions.vkCmdPushConstants(buffer, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                     pipeline.push_constant_bytes, dispatch.push_constants.data());
    }
    functions.vkCmdDispatch(buffer, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    if (content_->options.timestamps)
        content_->write_timestamp(1);
    ++content_->commands->dispatch_count;
}

void Recorder::barrier() {
    if (content_->error)
        return;
    const uint32_t number = content_->commands->barrier_count++;
    if (content_->options.omitted_barrier == number)
        return;
    content_->global_barrier(work_stages, work_access);
    content_->hazards.barrier();
}

void Recorder::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                    uint64_t bytes) {
    const Buffer::Content* source = from.content_.get();
    const Buffer::Content* target = to.content_.get();
    if (content_->error || !content_->check_part("copy", source, from_offset, bytes) ||
        !content_->check_part("copy", target, to_offset, bytes) || bytes == 0)
        return;
    const Range read = from.range(from_offset, bytes);
    const Range write = to.range(to_offset, bytes);
    if (read.overlaps(write)) {
        return content_->refuse(
            fmt::format("copy within buffer `{}` between parts that overlap", source->label));
    }
    if (!content_->check_hazards("copy", {&read, 1}, {&write, 1}))
        return;
    const VkBufferCopy region{.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
    content_->functions().vkCmdCopyBuffer(content_->buffer(), source->handle, target->handle, 1, &region);
}

void Recorder::fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word) {
    const Buffer::Content* target = buffer.content_.get();
    if (content_->error || !content_->check_part("fill", target, offset, bytes) || bytes == 0)
        return;
    if (offset % sizeof(word) != 0 || bytes % sizeof(word) != 0) {
        return content_->refuse(
            fmt::format("fill of {} bytes at offset {} of buffer `{}`: both must be multiples of 4", bytes,
                        offset, target->label));
    }
    const Range write = buffer.range(offset, bytes);
    if (!content_->check_hazards("fill", {}, {&write, 1}))
        return;
    content_->functions().vkCmdFillBuffer(content_->buffer(), target->handle, offset, bytes, word);
}

void Recorder::begin_region(std::string_view label) {
    if (content_->error)
        return;
    content_->regions.emplace_back(label);
    const auto begin_label = content_->device->instance->debug.begin_label;
    if (begin_label == nullptr || content_->buffer() == VK_NULL_HANDLE) // no buffer in inspection mode
        return;
    VkDebugUtilsLabelEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    info.pLabelName = content_->regions.back().c_str();
    begin_label(content_->buffer(), &info);
}

void Recorder::end_region() {
    if (content_->error)
        return;
    if (content_->regions.empty())
        return fail({ErrorKind::internal, "a region is closed that was not opened"});
    content_->regions.pop_back();
    const auto end_label = content_->device->instance->debug.end_label;
    if (end_label != nullptr && content_->buffer() != VK_NULL_HANDLE)
        end_label(content_->buffer());
}

void Recorder::fail(Error error) {
    content_->fail(std::move(error));
}

Result<CommandBuffer> Recorder::finish() {
    if (!content_->commands)
        return Error{ErrorKind::internal, "a recorder is finished twice"};
    if (!content_->error && !content_->regions.empty())
        fail({ErrorKind::internal, fmt::format("the region `{}` is not closed", content_->regions.back())});
    if (content_->error)
        return *content_->error;
    content_->global_barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    const VkResult ended = content_->functions().vkEndCommandBuffer(content_->buffer());
    if (ended != VK_SUCCESS)
        return vulkan_error(ended, "recording commands");
    return CommandBuffer(std::move(content_->commands));
}

} // namespace etna::vk
