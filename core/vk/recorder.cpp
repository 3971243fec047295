#include "core/vk/recorder.hpp"

#include "core/vk/error.hpp"
#include "core/vk/hazards.hpp"
#include "core/vk/impl.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {

CommandBuffer::CommandBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandBuffer::CommandBuffer(CommandBuffer&&) noexcept = default;
CommandBuffer& CommandBuffer::operator=(CommandBuffer&&) noexcept = default;
CommandBuffer::~CommandBuffer() = default;

CommandBuffer::Impl::~Impl() {
    if (!context)
        return;
    if (submitted > device->timeline.completed()) {
        device->contexts->recycle_at(std::move(context), submitted);
    } else {
        device->contexts->recycle(std::move(context));
    }
}

uint32_t CommandBuffer::barrier_count() const {
    return impl_->barrier_count;
}
uint32_t CommandBuffer::dispatch_count() const {
    return impl_->dispatch_count;
}

struct Recorder::Impl {
    Device::Impl* device = nullptr;
    std::unique_ptr<CommandBuffer::Impl> commands;
    RecorderOptions options;
    std::optional<Error> error;
    Hazards hazards; ///< since the last barrier
    std::vector<std::string> regions;
    bool has_unordered_work = false; ///< since the last barrier
    VkPipeline bound = VK_NULL_HANDLE;

    [[nodiscard]] const VolkDeviceTable& functions() const { return device->device.functions; }
    [[nodiscard]] VkCommandBuffer buffer() const { return commands->context->buffer; }

    void fail(Error failure) {
        if (!error)
            error = std::move(failure);
    }
    void refuse(std::string message) { fail({ErrorKind::invalid_argument, std::move(message)}); }

    void global_barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_access) const;
    bool check_dispatch(const Dispatch& dispatch, const Pipeline::Impl& pipeline);
    void barrier();
    void order(std::span<const Range> reads, std::span<const Range> writes);
    bool check_part(std::string_view step, const Buffer::Impl* part_of, uint64_t offset, uint64_t bytes);
    bool begin_timing(const std::string& label);
    void write_timestamp(uint32_t end) const;
};

namespace {

constexpr VkPipelineStageFlags work_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags work_writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags work_access = work_writes | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

} // namespace

void Recorder::Impl::global_barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_access) const {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = work_writes;
    barrier.dstAccessMask = to_access;
    functions().vkCmdPipelineBarrier(buffer(), work_stages, to_stages, 0, 1, &barrier, 0, nullptr, 0,
                                     nullptr);
}

bool Recorder::Impl::check_dispatch(const Dispatch& dispatch, const Pipeline::Impl& pipeline) {
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
    return true;
}

void Recorder::Impl::barrier() {
    if (!has_unordered_work)
        return;
    has_unordered_work = false;
    ++commands->barrier_count;
    global_barrier(work_stages, work_access);
    hazards.clear();
}

/// Records a barrier if the next step conflicts with one since the last, and adds it.
void Recorder::Impl::order(std::span<const Range> reads, std::span<const Range> writes) {
    if (hazards.conflict(reads, writes))
        barrier();
    hazards.add(reads, writes);
    has_unordered_work = true;
}

bool Recorder::Impl::check_part(std::string_view step, const Buffer::Impl* part_of, uint64_t offset,
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

bool Recorder::Impl::begin_timing(const std::string& label) {
    CommandContext& context = *commands->context;
    const size_t number = context.timed.size();
    const size_t pool = number / CommandContext::timed_per_query_pool;
    if (pool == context.query_pools.size()) {
        if (auto added = device->contexts->add_query_pool(context); !added) {
            fail(std::move(added).error());
            return false;
        }
    }
    if (number % CommandContext::timed_per_query_pool == 0) {
        functions().vkCmdResetQueryPool(buffer(), context.query_pools[pool], 0,
                                        2 * CommandContext::timed_per_query_pool);
    }
    std::string path;
    for (const std::string& region : regions)
        path += region + "/";
    context.timed.push_back(path + label);
    write_timestamp(0);
    return true;
}

void Recorder::Impl::write_timestamp(uint32_t end) const {
    const CommandContext& context = *commands->context;
    const auto number = static_cast<uint32_t>(context.timed.size() - 1);
    // The compute stage for the start too: at the top of the pipe it would count the wait for the step
    // before.
    functions().vkCmdWriteTimestamp(buffer(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                    context.query_pools[number / CommandContext::timed_per_query_pool],
                                    2 * (number % CommandContext::timed_per_query_pool) + end);
}

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;
Recorder::~Recorder() = default;

Result<Recorder> Recorder::create(Device& device, const RecorderOptions& options) {
    auto impl = std::make_unique<Impl>();
    impl->device = &device.impl();
    impl->options = options;
    impl->options.timestamps =
        options.timestamps && !options.is_reusable && device.profile().timestamp_period_ns > 0;
    impl->device->collect();
    impl->commands = std::make_unique<CommandBuffer::Impl>();
    impl->commands->device = impl->device;
    impl->commands->is_reusable = options.is_reusable;
    ETNA_TRY(impl->commands->context, impl->device->contexts->take());
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = options.is_reusable ? 0 : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    ETNA_CHECK(vulkan_status(impl->functions().vkBeginCommandBuffer(impl->buffer(), &info),
                             "beginning a command buffer"));
    // After everything submitted before; host writes are made visible by the submission itself.
    impl->global_barrier(work_stages, work_access);
    return Recorder(std::move(impl));
}

void Recorder::dispatch(const Dispatch& dispatch) {
    const Pipeline::Impl& pipeline = *dispatch.pipeline.impl_;
    if (impl_->error || !impl_->check_dispatch(dispatch, pipeline))
        return;
    impl_->order(dispatch.reads, dispatch.writes);
    if (impl_->options.timestamps && !impl_->begin_timing(pipeline.label))
        return;
    const VolkDeviceTable& functions = impl_->functions();
    VkCommandBuffer const buffer = impl_->buffer();
    if (impl_->bound != pipeline.handle)
        functions.vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    impl_->bound = pipeline.handle;
    if (pipeline.push_constant_bytes != 0) {
        functions.vkCmdPushConstants(buffer, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                     pipeline.push_constant_bytes, dispatch.push_constants.data());
    }
    functions.vkCmdDispatch(buffer, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    if (impl_->options.timestamps)
        impl_->write_timestamp(1);
    ++impl_->commands->dispatch_count;
}

void Recorder::barrier() {
    if (!impl_->error)
        impl_->barrier();
}

void Recorder::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                    uint64_t bytes) {
    const Buffer::Impl* source = from.impl_.get();
    const Buffer::Impl* target = to.impl_.get();
    if (impl_->error || !impl_->check_part("copy", source, from_offset, bytes) ||
        !impl_->check_part("copy", target, to_offset, bytes) || bytes == 0)
        return;
    const Range read = from.range(from_offset, bytes);
    const Range write = to.range(to_offset, bytes);
    if (read.overlaps(write)) {
        return impl_->refuse(
            fmt::format("copy within buffer `{}` between parts that overlap", source->label));
    }
    impl_->order({&read, 1}, {&write, 1});
    const VkBufferCopy region{.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
    impl_->functions().vkCmdCopyBuffer(impl_->buffer(), source->handle, target->handle, 1, &region);
}

void Recorder::fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word) {
    const Buffer::Impl* target = buffer.impl_.get();
    if (impl_->error || !impl_->check_part("fill", target, offset, bytes) || bytes == 0)
        return;
    if (offset % sizeof(word) != 0 || bytes % sizeof(word) != 0) {
        return impl_->refuse(
            fmt::format("fill of {} bytes at offset {} of buffer `{}`: both must be multiples of 4", bytes,
                        offset, target->label));
    }
    const Range write = buffer.range(offset, bytes);
    impl_->order({}, {&write, 1});
    impl_->functions().vkCmdFillBuffer(impl_->buffer(), target->handle, offset, bytes, word);
}

void Recorder::begin_region(std::string_view label) {
    if (impl_->error)
        return;
    impl_->regions.emplace_back(label);
    const auto begin_label = impl_->device->instance->debug.begin_label;
    if (begin_label == nullptr || impl_->buffer() == VK_NULL_HANDLE) // no buffer in inspection mode
        return;
    VkDebugUtilsLabelEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    info.pLabelName = impl_->regions.back().c_str();
    begin_label(impl_->buffer(), &info);
}

void Recorder::end_region() {
    if (impl_->error)
        return;
    if (impl_->regions.empty())
        return fail({ErrorKind::internal, "a region is closed that was not opened"});
    impl_->regions.pop_back();
    const auto end_label = impl_->device->instance->debug.end_label;
    if (end_label != nullptr && impl_->buffer() != VK_NULL_HANDLE)
        end_label(impl_->buffer());
}

void Recorder::fail(Error error) {
    impl_->fail(std::move(error));
}

Result<CommandBuffer> Recorder::finish() {
    if (!impl_->commands)
        return Error{ErrorKind::internal, "a recorder is finished twice"};
    if (!impl_->error && !impl_->regions.empty())
        fail({ErrorKind::internal, fmt::format("the region `{}` is not closed", impl_->regions.back())});
    if (impl_->error)
        return *impl_->error;
    impl_->global_barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    ETNA_CHECK(vulkan_status(impl_->functions().vkEndCommandBuffer(impl_->buffer()), "recording commands"));
    return CommandBuffer(std::move(impl_->commands));
}

} // namespace etna::vk
