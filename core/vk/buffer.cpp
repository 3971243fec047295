#include "core/vk/buffer.hpp"

#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::vk {
namespace {

/// Maximum padding of Vulkan buffers, so that a vector load of the last element stays inside.
constexpr uint64_t size_granularity = 16;

std::string_view name_of(MemoryDomain memory) {
    constexpr std::array<std::string_view, 3> names = {"device", "upload", "readback"};
    return names[static_cast<std::size_t>(memory)];
}

double mebibytes(uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(mebibyte);
}

Status create_handle(Buffer::Impl& impl) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = round_up(impl.bytes, size_granularity);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    const LogicalDevice& device = impl.device->device;
    return vulkan_status(device.functions.vkCreateBuffer(device.handle, &info, nullptr, &impl.handle),
                         fmt::format("creating the buffer `{}`", impl.label));
}

/// Allocates memory for the buffer; if that fails, waits for the device to finish and retries once.
Result<Allocation> allocate(Device::Impl& device, MemoryDomain memory,
                            const VkMemoryRequirements& requirements) {
    device.collect();
    auto allocation = device.allocator->allocate(memory, requirements);
    if (allocation || !device.timeline.has_retired())
        return allocation;
    ETNA_CHECK(device.wait_for_submissions());
    device.collect();
    return device.allocator->allocate(memory, requirements);
}

Status bind(Buffer::Impl& impl, MemoryDomain memory) {
    Device::Impl& owner = *impl.device;
    const LogicalDevice& device = owner.device;
    VkMemoryRequirements requirements{};
    device.functions.vkGetBufferMemoryRequirements(device.handle, impl.handle, &requirements);
    auto allocation = allocate(owner, memory, requirements);
    if (!allocation) {
        Error error = std::move(allocation).error();
        if (error.kind == ErrorKind::out_of_memory) {
            error.message = fmt::format(
                "buffer `{}` needs {:.1f} MiB of {} memory, and {:.1f} MiB are free on `{}` ({})", impl.label,
                mebibytes(impl.bytes), name_of(memory), mebibytes(read_memory_state(owner).free_bytes),
                owner.profile.name, error.message);
        }
        return error;
    }
    impl.allocation = *allocation;
    ETNA_CHECK(vulkan_status(device.functions.vkBindBufferMemory(device.handle, impl.handle,
                                                                 allocation->memory, allocation->offset),
                             fmt::format("binding memory to the buffer `{}`", impl.label)));
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = impl.handle;
    impl.address = device.functions.vkGetBufferDeviceAddress(device.handle, &info);
    if (impl.address == 0 || impl.address % allocation_alignment != 0) {
        return unsupported(
            fmt::format("the driver gave the buffer `{}` the address {:#x}, which is not a multiple of {}",
                        impl.label, impl.address, allocation_alignment),
            "update the GPU's Vulkan driver, or choose another device");
    }
    return {};
}

} // namespace

Buffer::Impl::~Impl() {
    if (handle == VK_NULL_HANDLE)
        return;
    device->timeline.retire([owner = device, buffer = handle, part = allocation] {
        owner->device.functions.vkDestroyBuffer(owner->device.handle, buffer, nullptr);
        if (part.block != nullptr)
            owner->allocator->release(part);
    });
}

Buffer::Buffer() = default;
Buffer::Buffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;

Result<Buffer> Buffer::create(Device& device, MemoryDomain memory, uint64_t bytes, std::string_view label) {
    if (bytes == 0)
        return invalid_argument(fmt::format("buffer `{}` has no bytes", label));
    const uint64_t limit = device.profile().allocation_bytes_max;
    if (bytes >= limit || round_up(bytes, allocation_alignment) >= limit) {
        return invalid_argument(
            fmt::format("buffer `{}` needs {:.1f} MiB, and one allocation on `{}` must stay below {:.1f} MiB",
                        label, mebibytes(bytes), device.profile().name, mebibytes(limit)),
            "use a smaller model or context, or another device");
    }
    auto impl = std::make_unique<Impl>();
    impl->device = &device.impl();
    impl->bytes = bytes;
    impl->label = label;
    ETNA_CHECK(create_handle(*impl));
    ETNA_CHECK(bind(*impl, memory));
    impl->device->set_name(VK_OBJECT_TYPE_BUFFER, (uint64_t)impl->handle, label);
    return Buffer(std::move(impl));
}

uint64_t Buffer::bytes() const {
    return impl_ ? impl_->bytes : 0;
}

Range Buffer::range() const {
    return impl_ ? Range{impl_->address, impl_->bytes} : Range{};
}

MutableByteView Buffer::mapped() const {
    if (!impl_ || impl_->allocation.mapped == nullptr)
        return {};
    return {impl_->allocation.mapped, impl_->bytes};
}

} // namespace etna::vk
