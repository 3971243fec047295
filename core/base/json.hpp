#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

namespace etna {

/// What JSON takes its memory from: the heap, as from std::allocator, which is left to what stands below.
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

/// JSON whose members keep their order, as templates and people like it; and that can be destroyed whatever
/// the memory: see below.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, double, JsonAllocator>;

} // namespace etna

/// The library's destructor of JSON moves all nested values into a std::vector<Json>, and where there is no
/// memory for that, the process ends: destructors do not throw. Nothing else here has such a vector. It gets
/// its memory from the heap and, where that has none, from a reserve that was set aside when the process
/// began; threads that need the reserve take turns.
template <>
struct std::allocator<etna::Json> {
    using value_type = etna::Json;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_move_assignment = std::true_type;
    using is_always_equal = std::true_type;

    allocator() = default;

    /// Throws bad_alloc where more values are destroyed at once than the reserve is for.
    etna::Json* allocate(std::size_t count);
    void deallocate(etna::Json* memory, std::size_t count);

    friend bool operator==(const allocator& /*a*/, const allocator& /*b*/) { return true; }
};
