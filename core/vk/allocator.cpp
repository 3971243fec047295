#include "core/vk/allocator.hpp"

#include "core/base/memory.hpp"
#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace etna::vk {
namespace {

constexpr VkMemoryPropertyFlags device_local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags host_visible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
/// Everything else is for special purposes (protected, lazily allocated, uncached on the device).
constexpr VkMemoryPropertyFlags ordinary = device_local | host_visible | cached;

struct MemoryTypeFlags {
    VkMemoryPropertyFlags required = 0;
    VkMemoryPropertyFlags preferred = 0;
    VkMemoryPropertyFlags avoided = 0;
};

MemoryTypeFlags flags_for(MemoryDomain intent, bool unified) {
    switch (intent) {
    case MemoryDomain::upload: // host memory: leaves the small BAR window of a discrete device to others
        return {.required = host_visible, .preferred = 0, .avoided = device_local | cached};
    case MemoryDomain::readback:
        return {.required = host_visible, .preferred = cached, .avoided = device_local};
    case MemoryDomain::device:
        break;
    }
    if (unified)
        return {.required = device_local, .preferred = host_visible, .avoided = 0};
    return {.required = device_local, .preferred = 0, .avoided = host_visible | cached};
}

uint64_t host_memory_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) : 0;
}

/// Of the largest device-local heap: the free budget by VK_EXT_memory_budget, else the size less this
/// process's allocations.
uint64_t free_heap_bytes(const Device::Impl& impl) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = impl.profile.memory_budget ? &budget : nullptr;
    vkGetPhysicalDeviceMemoryProperties2(impl.physical, &memory);

    std::optional<uint32_t> largest;
    for (uint32_t heap = 0; heap < memory.memoryProperties.memoryHeapCount; ++heap) {
        const VkMemoryHeap& candidate = memory.memoryProperties.memoryHeaps[heap];
        if ((candidate.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 &&
            (!largest || candidate.size > memory.memoryProperties.memoryHeaps[*largest].size))
            largest = heap;
    }
    if (!largest)
        return 0;
    const uint64_t limit = impl.profile.memory_budget ? budget.heapBudget[*largest]
                                                      : memory.memoryProperties.memoryHeaps[*largest].size;
    const uint64_t used = impl.profile.memory_budget ? budget.heapUsage[*largest]
                                                     : impl.allocator->allocated().device.reserved_bytes;
    return limit - std::min(limit, used);
}

/// Suggests huge pages for fresh host memory: the first writes then fault for each 2 MiB instead of each
/// page, which takes a large part of a model's loading time otherwise. Pages that are not written stay
/// unused.
void advise_huge_pages(std::byte* address, uint64_t bytes) {
    const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t begin = round_up(reinterpret_cast<uintptr_t>(address), page_bytes);
    const uint64_t end = (reinterpret_cast<uintptr_t>(address) + bytes) / page_bytes * page_bytes;
    if (end > begin)
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

} // namespace

struct Block {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t bytes = 0;
    std::byte* mapped = nullptr;
    SubAllocator space;
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
    const uint64_t bytes = allocation_bytes(requirements.size);
    if (!options_.policy.allows(bytes)) {
        return Error{ErrorKind::out_of_memory,
                     fmt::format("{} bytes exceed the device's largest allocation", bytes)};
    }
    Error first{ErrorKind::unsupported, "the device has no memory type that fits",
                "update the GPU's Vulkan driver, or choose another device"};
    const std::scoped_lock lock(mutex_);
    bool tried = false;
    for (const uint32_t type : types_[static_cast<size_t>(intent)]) {
        if ((requirements.memoryTypeBits & (1U << type)) == 0)
            continue;
        Pool& pool = pools_[static_cast<size_t>(intent)][type];
        auto allocation = allocate_from(pool, intent, type, bytes, alignment);
        if (allocation) {
            pool.used_bytes += allocation->bytes;
            return allocation;
        }
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
    return Error{ErrorKind::internal, "a new block of device memory is too small for its own request"};
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
        Block{.bytes = bytes, .space = SubAllocator(bytes), .intent = intent, .type = type});
    ETNA_CHECK(
        vulkan_status(options_.functions->vkAllocateMemory(options_.device, &info, nullptr, &block->memory),
                      fmt::format("allocating {} bytes", bytes)));
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
        if (options_.host_memory)
            advise_huge_pages(block->mapped, bytes);
    }
    pool.reserved_bytes += bytes;
    pool.blocks.push_back(std::move(block));
    local_peak_bytes_ = std::max(local_peak_bytes_, count().device.reserved_bytes);
    return pool.blocks.back().get();
}

void Allocator::release(const Allocation& allocation) {
    const std::scoped_lock lock(mutex_);
    Block& block = *allocation.block;
    Pool& pool = pools_[static_cast<size_t>(block.intent)][block.type];
    block.space.free(allocation.offset, allocation.bytes);
    pool.used_bytes -= allocation.bytes;
    if (!block.space.empty())
        return;
    // Retain one small empty shared block, so that a short-lived buffer does not cause a driver allocation
    // each time.
    const auto is_spare = [&](const auto& other) {
        return other.get() != &block && !other->own && other->space.empty();
    };
    const bool is_small = !block.own && block.bytes <= BlockPolicy::smallest_block_bytes;
    if (is_small && std::none_of(pool.blocks.begin(), pool.blocks.end(), is_spare))
        return;
    pool.reserved_bytes -= block.bytes;
    free_block(block);
    std::erase_if(pool.blocks, [&](const auto& other) { return other.get() == &block; });
}

AllocatedMemory Allocator::allocated() const {
    const std::scoped_lock lock(mutex_);
    return count();
}

uint64_t Allocator::device_local_peak_bytes() const {
    const std::scoped_lock lock(mutex_);
    return local_peak_bytes_;
}

AllocatedMemory Allocator::count() const {
    AllocatedMemory memory;
    for (const auto& pools : pools_) {
        for (uint32_t type = 0; type < options_.memory.memoryTypeCount; ++type) {
            const bool is_local = (options_.memory.memoryTypes[type].propertyFlags & device_local) != 0;
            AllocatedMemory::Part& part = is_local ? memory.device : memory.host;
            part.used_bytes += pools[type].used_bytes;
            part.reserved_bytes += pools[type].reserved_bytes;
        }
    }
    return memory;
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

std::vector<uint32_t> memory_types_for(const VkPhysicalDeviceMemoryProperties& properties,
                                       MemoryDomain intent, bool unified) {
    const MemoryTypeFlags domain_flags = flags_for(intent, unified);
    std::vector<std::pair<int, uint32_t>> ranked; // penalty, index
    for (uint32_t index = 0; index < properties.memoryTypeCount; ++index) {
        const VkMemoryPropertyFlags flags = properties.memoryTypes[index].propertyFlags;
        if ((flags & ~ordinary) != 0 || (flags & domain_flags.required) != domain_flags.required)
            continue;
        const int penalty = ((flags & domain_flags.preferred) != domain_flags.preferred ? 2 : 0) +
                            ((flags & domain_flags.avoided) != 0 ? 1 : 0);
        ranked.emplace_back(penalty, index);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> types;
    types.reserve(ranked.size());
    for (const auto& [penalty, index] : ranked)
        types.push_back(index);
    return types;
}

MemoryState read_memory_state(const Device::Impl& impl) {
    const std::optional<uint64_t> host_free_bytes = available_host_memory_bytes();
    const uint64_t peak_bytes = impl.allocator->device_local_peak_bytes();
    // The heap of a device that is the CPU has a meaningless size (lavapipe reports 2 GiB and allocates
    // more).
    if (impl.physical_profile.type == DeviceType::cpu && host_free_bytes)
        return {.free_bytes = *host_free_bytes,
                .total_bytes = host_memory_bytes(),
                .peak_bytes = peak_bytes,
                .host_free_bytes = host_free_bytes};
    MemoryState state{.free_bytes = free_heap_bytes(impl),
                      .total_bytes = impl.profile.memory_bytes,
                      .peak_bytes = peak_bytes,
                      .host_free_bytes = host_free_bytes};
    if (impl.physical_profile.unified_memory && host_free_bytes)
        state.free_bytes = std::min(state.free_bytes, *host_free_bytes);
    return state;
}

} // namespace etna::vk
