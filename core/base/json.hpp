#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

namespace etna {

/// The allocator of Json: the heap, like std::allocator; the specialization below differs.
template <class T>
struct JsonAllocator {
    using value_type = T;

    JsonAllocator() = default;
    template <class Other>
    // NOLINTNEXTLINE(google-explicit-constructor): allocators convert
    JsonAllocator(const JsonAllocator<Other>& /*other*/) {}

    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory); }

    friend bool operator==(const JsonAllocator& /*a*/, const JsonAllocator& /*b*/) { return true; }
};

/// JSON with members in insertion order, whose destruction cannot fail for lack of memory: see below.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, double, JsonAllocator>;

} // namespace etna

/// The library's JSON destructor moves all nested values into a std::vector<Json>; if that allocation fails,
/// the process terminates, because destructors do not throw. Nothing else uses such a vector. Its memory
/// comes from the heap or, if the heap is exhausted, from a reserve allocated at process start; threads that
/// need the reserve take turns.
template <>
struct std::allocator<etna::Json> {
    using value_type = etna::Json;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_move_assignment = std::true_type;
    using is_always_equal = std::true_type;

    allocator() = default;

    /// Throws bad_alloc if more values are destroyed at once than the reserve can hold.
    etna::Json* allocate(std::size_t count);
    void deallocate(etna::Json* memory, std::size_t count);

    friend bool operator==(const allocator& /*a*/, const allocator& /*b*/) { return true; }
};
