#pragma once

#include "core/base/result.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/device.hpp"
#include "core/vk/sub_allocator.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <volk.h>

namespace etna::vk {

struct Block;

/// Indices of the memory types that serve an intent, best first. Pure. `unified`: device memory is mapped if
/// possible.
std::vector<uint32_t> memory_types_for(const VkPhysicalDeviceMemoryProperties& properties,
                                       MemoryDomain intent, bool unified);

/// A suballocation of one VkDeviceMemory; returned with Allocator::release().
struct Allocation {
    Block* block = nullptr; ///< owned by the allocator
    uint64_t offset = 0;
    uint64_t bytes = 0;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* mapped = nullptr; ///< start of this range; null if not mapped
};

struct AllocatorOptions {
    VkDevice device = VK_NULL_HANDLE;
    const VolkDeviceTable* functions = nullptr; ///< borrowed
    VkPhysicalDeviceMemoryProperties memory{};
    BlockPolicy policy;
    bool map_device_memory = false; ///< unified memory: MemoryDomain::device is mapped too
    bool host_memory = false;       ///< the device allocates from the host's memory, which overcommits
};

/// Device memory by intent, in blocks that stay mapped. Thread-safe.
class Allocator {
public:
    explicit Allocator(const AllocatorOptions& options);
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;
    ~Allocator(); ///< frees every block, in use or not

    /// Memory that a buffer with these requirements can be bound to, with shader addresses. Asks the driver
    /// only when no block has room. Errors: out_of_memory, unsupported (no memory type fits).
    Result<Allocation> allocate(MemoryDomain intent, const VkMemoryRequirements& requirements);

    void release(const Allocation& allocation);

    /// Memory of every live buffer, and of the blocks that hold them.
    [[nodiscard]] AllocatedMemory allocated() const;
    /// Maximum until now of the bytes from the driver on device-local heaps.
    [[nodiscard]] uint64_t device_local_peak_bytes() const;
    /// Number of VkDeviceMemory objects.
    [[nodiscard]] size_t block_count() const;

private:
    struct Pool { ///< one per intent and memory type
        std::vector<std::unique_ptr<Block>> blocks;
        uint64_t reserved_bytes = 0; ///< of the blocks
        uint64_t used_bytes = 0;     ///< of the allocations in them
    };
    static constexpr size_t intent_count = 3;

    Result<Allocation> allocate_from(Pool& pool, MemoryDomain intent, uint32_t type, uint64_t bytes,
                                     uint64_t alignment);
    Result<Block*> add_block(Pool& pool, MemoryDomain intent, uint32_t type, uint64_t bytes);
    void free_block(Block& block) const;
    [[nodiscard]] AllocatedMemory count() const; ///< allocated(), with the mutex locked

    AllocatorOptions options_;
    std::array<std::vector<uint32_t>, intent_count> types_; ///< by intent, best first
    mutable std::mutex mutex_;
    std::array<std::array<Pool, VK_MAX_MEMORY_TYPES>, intent_count> pools_;
    uint64_t local_peak_bytes_ = 0;
};

} // namespace etna::vk
