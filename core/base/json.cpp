#include "core/base/json.hpp"

#include "core/base/bytes.hpp"

#include <cstdlib>
#include <mutex>
#include <new>

#include <sys/mman.h>

namespace etna {
namespace {

/// Room for two million values, including the vector's previous buffers as it grows by doubling. Only address
/// space until used.
constexpr std::size_t reserve_bytes = 128 * mebibyte;

/// Bump allocator for one thread at a time; resets when all of its memory is freed.
class Reserve {
public:
    Reserve() noexcept {
        void* const memory = ::mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    }
    Reserve(const Reserve&) = delete;
    Reserve& operator=(const Reserve&) = delete;
    ~Reserve() = default; // never unmapped: values may be destroyed after this object

    /// Blocks while another thread holds memory of it. Null if it is too small.
    void* take(std::size_t bytes) {
        mutex_.lock();
        bytes = round_up(bytes, alignof(std::max_align_t));
        if (memory_ == nullptr || bytes > reserve_bytes - used_) {
            mutex_.unlock();
            return nullptr;
        }
        ++pieces_;
        void* const piece = memory_ + used_;
        used_ += bytes;
        return piece;
    }

    [[nodiscard]] bool owns(const void* piece) const {
        return memory_ != nullptr && piece >= memory_ && piece < memory_ + reserve_bytes;
    }

    void give_back() {
        if (--pieces_ == 0) {
            ::madvise(memory_, used_, MADV_DONTNEED);
            used_ = 0;
        }
        mutex_.unlock();
    }

private:
    std::recursive_mutex mutex_; ///< locked while a thread holds allocations
    std::byte* memory_ = nullptr;
    std::size_t used_ = 0;
    std::size_t pieces_ = 0;
};

Reserve reserve;

} // namespace
} // namespace etna

etna::Json* std::allocator<etna::Json>::allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(etna::Json);
    void* memory = std::malloc(bytes);
    if (memory == nullptr)
        memory = etna::reserve.take(bytes);
    if (memory == nullptr)
        throw std::bad_alloc();
    return static_cast<etna::Json*>(memory);
}

void std::allocator<etna::Json>::deallocate(etna::Json* memory, std::size_t /*count*/) {
    if (etna::reserve.owns(memory)) {
        etna::reserve.give_back();
    } else {
        std::free(memory);
    }
}
