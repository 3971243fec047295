#pragma once

#include "core/base/result.hpp"
#include "core/jinja/object.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::jinja {

/// Limits of one template and one rendering. Templates are untrusted: these limits bound the time, memory and
/// stack of parsing and rendering.
struct Limits {
    std::size_t template_bytes = std::size_t{1} << 20; ///< size of the template text
    std::size_t nesting = 100;                         ///< nesting depth of blocks and brackets
    std::size_t evaluation_depth = 1000;               ///< nested expressions, statements and macro calls
    std::size_t value_depth = 200;                     ///< nesting depth of lists and dicts
    std::size_t live_bytes = std::size_t{256} << 20;   ///< live strings and containers, output included
    uint64_t work = 2'000'000'000;                     ///< bytes read and written; a step counts as step_work
    int64_t range_length = 100'000; ///< items of one range(), as in the reference's sandbox
};

constexpr uint64_t step_work = 100; ///< work of one expression or statement
/// Work per byte of a substring search, which is linear but slow in the worst case.
constexpr uint64_t search_work = 8;

/// Returns an error whose message starts with the Python exception's name, as in the reference. The message
/// is formatted as by fmt::format(), in all four functions.
template <class... Values>
Error python_error(std::string_view exception, fmt::format_string<Values...> message, Values&&... values) {
    return {.kind = ErrorKind::unsupported,
            .message =
                fmt::format("{}: {}", exception, fmt::format(message, std::forward<Values>(values)...))};
}

template <class... Values>
Error type_error(fmt::format_string<Values...> message, Values&&... values) {
    return python_error("TypeError", message, std::forward<Values>(values)...);
}

template <class... Values>
Error value_error(fmt::format_string<Values...> message, Values&&... values) {
    return python_error("ValueError", message, std::forward<Values>(values)...);
}

/// Returns the error for an integer of more than 64 bits.
inline Error overflow_error() {
    return python_error("OverflowError", "templates cannot compute integers of more than 64 bits");
}

/// Returns the error for an exceeded limit.
template <class... Values>
Error limit_error(fmt::format_string<Values...> message, Values&&... values) {
    return {.kind = ErrorKind::unsupported,
            .message = fmt::format(message, std::forward<Values>(values)...),
            .hint = "the template asks for more than any conversation needs; try another one"};
}

/// Counts one level of recursion for its lifetime.
class DepthGuard {
public:
    explicit DepthGuard(std::size_t& depth) : depth_(depth) { ++depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    ~DepthGuard() { --depth_; }

private:
    std::size_t& depth_;
};

/// TypeError for a value that cannot be a key.
Status check_hashable(const Value& key);

/// Shared state of one rendering: limits, memory accounting, clock. Creates every string and container, so
/// that all memory is accounted for. Not thread-safe; outlives all values it creates.
class Machine {
public:
    /// `work_left`: see Input.
    Machine(const Limits& limits, int64_t now_unix_s, uint64_t* work_left = nullptr)
        : limits_(limits), now_unix_s_(now_unix_s), work_left_(work_left) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine();

    /// Charges `bytes` of work. Error: unsupported, if a limit is exceeded.
    Status spend(uint64_t bytes);
    /// Checks that `bytes` more fit the memory limit. Error: unsupported.
    [[nodiscard]] Status room_for(std::size_t bytes) const;
    /// Charges for `bytes` that will be added to a text of `size` bytes.
    Status grow(std::size_t size, std::size_t bytes);
    /// Calls spend() and room_for(). Call it before allocating `bytes`.
    Status reserve(std::size_t bytes);

    Result<Value> text(std::string bytes, bool markup = false);
    Result<Value> list(std::vector<Value> items) { return sequence(std::move(items), false); }
    Result<Value> tuple(std::vector<Value> items) { return sequence(std::move(items), true); }
    Result<Value> dict(std::vector<Dict::Entry> entries); ///< TypeError for an unhashable key
    /// Creates an object that holds values; its constructor takes the depth first.
    template <class T, class... Rest>
    Result<Value> object(std::size_t depth, Rest&&... rest) {
        ETNA_CHECK(check_depth(depth));
        ETNA_CHECK(spend(sizeof(T)));
        return Value(std::shared_ptr<Object>(std::make_shared<T>(depth, std::forward<Rest>(rest)...)));
    }
    /// Call it for an object, a list or a dict that can come to contain itself, or becomes deeper: its values
    /// are released when the rendering ends.
    template <class T>
    Status keep(const std::shared_ptr<T>& value) {
        if (std::exchange(value->is_kept, true))
            return {};
        ETNA_CHECK(reserve(2 * sizeof clearers_[0]));
        clearers_.emplace_back([value] { value->clear(); });
        return {};
    }
    Status check_depth(std::size_t depth) const;

    /// Copies a value from the caller of the rendering into the rendering's own containers.
    Result<Value> adopt(const Value& value);

    [[nodiscard]] Memory& memory() { return memory_; }
    [[nodiscard]] const Limits& limits() const { return limits_; }
    [[nodiscard]] int64_t now_unix_s() const { return now_unix_s_; }

    /// Recursion depth, for a DepthGuard; check_recursion() is a RecursionError over the limit.
    [[nodiscard]] std::size_t& levels() { return levels_; }
    [[nodiscard]] Status check_recursion() const;

private:
    Result<Value> sequence(std::vector<Value> items, bool is_tuple);

    Limits limits_;
    int64_t now_unix_s_;
    Memory memory_;
    uint64_t work_ = 0;
    uint64_t* work_left_; ///< borrowed; null: none is shared
    std::size_t levels_ = 0;
    std::vector<std::function<void()>> clearers_; ///< each clears a retained value
};

} // namespace etna::jinja
