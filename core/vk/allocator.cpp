#include "core/vk/allocator.hpp"

#include "core/base/memory.hpp"
#include "core/vk/error.hpp"
#include "core/vk/memory_types.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace etna::vk {

struct Block {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t bytes = 0;
    std::byte* mapped = nullptr;
    BlockSpace space;
    MemoryDomain intent;
    uint32_t type = 0;
    bool own = false; ///< of a single large allocation
};

Allocator::Allocator(const AllocatorOptions& options) : options_(options) {
    for (const MemoryDomain intent : {MemoryDomain::device, MemoryDomain::upload, MemoryDomain::readback}) {
        types_[static_cast<size_t>(intent)] =
            memory_types_for(options.memory, intent, options.map_device_memory);
    }
}

Allocator::~Allocator() {
    for (auto& pools : pools_) {
        for (const Pool& pool : pools) {
            for (const auto& block : pool.blocks)
                free_block(*block);
        }
    }
}

void Allocator::free_block(Block& block) const {
    options_.functions->vkFreeMemory(options_.device, block.memory, nullptr); // unmaps too
}

Result<Allocation> Allocator::allocate(MemoryDomain intent, const VkMemoryRequirements& requirements) {
    const uint64_t alignment = std::max(requirements.alignment, allocation_alignment);
    const uint64_t bytes = round_up(requirements.size, allocation_alignment);
    if (!options_.policy.allows(bytes)) {
        return Error{ErrorKind::out_of_memory,
                     fmt::format("{} bytes are not below the device's largest allocation", bytes)};
    }
    Error first{ErrorKind::unsupported, "the device has no memory of the kind that is needed",
                "update the GPU's Vulkan driver, or choose another device"};
    const std::scoped_lock lock(mutex_);
    bool tried = false;
    for (const uint32_t type : types_[static_cast<size_t>(intent)]) {
        if ((requirements.memoryTypeBits & (1U << type)) == 0)
            continue;
        Pool& pool = pools_[static_cast<size_t>(intent)][type];
        auto allocation = allocate_from(pool, intent, type, bytes, alignment);
        if (allocation)
            return allocation;
        if (!tried)
            first = std::move(allocation).error();
        tried = true;
    }
    return first;
}

Result<Allocation> Allocator::allocate_from(Pool& pool, MemoryDomain intent, uint32_t type, uint64_t bytes,
                                            uint64_t alignment) {
    const auto part_of = [&](Block& block) -> std::optional<Allocation> {
        const auto offset = block.space.take(bytes, alignment);
        if (!offset)
            return std::nullopt;
        return Allocation{.block = &block,
                          .offset = *offset,
                          .bytes = bytes,
                          .memory = block.memory,
                          .mapped = block.mapped == nullptr ? nullptr : block.mapped + *offset};
    };
    for (const auto& block : pool.blocks) {
        if (!block->own) {
            if (auto part = part_of(*block))
                return *part;
        }
    }
    if (!options_.policy.needs_own_allocation(bytes, pool.reserved_bytes)) {
        auto block = add_block(pool, intent, type, options_.policy.next_block_bytes(pool.reserved_bytes));
        if (block) {
            if (auto part = part_of(**block))
                return *part;
        }
        // Memory is scarce: an allocation of the exact size may still succeed.
    }
    ETNA_TRY(Block* const block, add_block(pool, intent, type, bytes));
    block->own = true;
    if (auto part = part_of(*block))
        return *part;
    return Error{ErrorKind::internal,
                 "a new block of device memory has no room for the request it was made for"};
}

Result<Block*> Allocator::add_block(Pool& pool, MemoryDomain intent, uint32_t type, uint64_t bytes) {
    // The host overcommits memory and would kill the process later: fail now, while it is still an error.
    if (options_.host_memory && bytes > available_host_memory_bytes().value_or(bytes))
        return vulkan_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, fmt::format("allocating {} bytes", bytes));
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &flags;
    info.allocationSize = bytes;
    info.memoryTypeIndex = type;
    auto block = std::make_unique<Block>(
        Block{.bytes = bytes, .space = BlockSpace(bytes), .intent = intent, .type = type});
    const VkResult allocated =
        options_.functions->vkAllocateMemory(options_.device, &info, nullptr, &block->memory);
    if (allocated != VK_SUCCESS)
        return vulkan_error(allocated, fmt::format("allocating {} bytes", bytes));
    constexpr VkMemoryPropertyFlags mapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const bool can_map = (options_.memory.memoryTypes[type].propertyFlags & mapped) == mapped;
    if (can_map && (intent != MemoryDomain::device || options_.map_device_memory)) {
        void* address = nullptr;
        const VkResult result =
            options_.functions->vkMapMemory(options_.device, block->memory, 0, VK_WHOLE_SIZE, 0, &address);
        if (result != VK_SUCCESS) {
            free_block(*block);
            return vulkan_error(result, fmt::format("mapping {} bytes", bytes));
        }
        block->mapped = static_cast<std::byte*>(address);
    }
    pool.reserved_bytes += bytes;
    pool.blocks.push_back(std::move(block));
    return pool.blocks.back().get();
}

void Allocator::release(const Allocation& allocation) {
    const std::scoped_lock lock(mutex_);
    Block& block = *allocation.block;
    block.space.give_back(allocation.offset, allocation.bytes);
    if (!block.space.empty())
        return;
    // Retain one empty shared block, so that a short-lived buffer does not cause a driver allocation each
    // time.
    Pool& pool = pools_[static_cast<size_t>(block.intent)][block.type];
    const auto is_spare = [&](const auto& other) {
        return other.get() != &block && !other->own && other->space.empty();
    };
    if (!block.own && std::none_of(pool.blocks.begin(), pool.blocks.end(), is_spare))
        return;
    pool.reserved_bytes -= block.bytes;
    free_block(block);
    std::erase_if(pool.blocks, [&](const auto& other) { return other.get() == &block; });
}

uint64_t Allocator::device_local_bytes() const {
    const std::scoped_lock lock(mutex_);
    uint64_t bytes = 0;
    for (const auto& pools : pools_) {
        for (uint32_t type = 0; type < options_.memory.memoryTypeCount; ++type) {
            if ((options_.memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0)
                bytes += pools[type].reserved_bytes;
        }
    }
    return bytes;
}

size_t Allocator::block_count() const {
    const std::scoped_lock lock(mutex_);
    size_t count = 0;
    for (const auto& pools : pools_) {
        for (const Pool& pool : pools)
            count += pool.blocks.size();
    }
    return count;
}

} // namespace etna::vk
