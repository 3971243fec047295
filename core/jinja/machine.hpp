#pragma once

#include "core/base/result.hpp"
#include "core/jinja/containers.hpp"
#include "core/jinja/limits.hpp"
#include "core/jinja/object.hpp"

#include <memory>
#include <string>
#include <vector>

namespace etna::jinja {

/// Whether list.append(), dict.update() and similar methods may change values made by the rendering.
enum class Mutation : uint8_t {
    allowed,
    refused, ///< raise a SecurityError, as in the reference's immutable sandbox
};

/// Shared state of one rendering: limits, memory accounting, clock. Creates every string and container, so
/// that all memory is accounted for. Not thread-safe; outlives all values it creates.
class Machine {
public:
    Machine(const Limits& limits, Mutation mutation, int64_t now_unix_s)
        : limits_(limits), mutation_(mutation), now_unix_s_(now_unix_s) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine();

    /// Charges `bytes` of work. Error: unsupported, if the limit is exceeded.
    Status spend(uint64_t bytes);
    /// Checks that `bytes` more fit the memory limit. Error: unsupported.
    [[nodiscard]] Status room_for(std::size_t bytes) const;
    /// Calls spend() and room_for(); to be called before `bytes` are allocated.
    Status reserve(std::size_t bytes);

    Result<Value> text(std::string bytes, bool markup = false);
    Result<Value> integer(std::string decimal); ///< of any size, as integer_value() reads it
    Result<Value> list(std::vector<Value> items);
    Result<Value> tuple(std::vector<Value> items);
    Result<Value> dict(std::vector<Dict::Entry> entries); ///< TypeError for an unhashable key
    Result<Value> pair(Value first, Value second);
    /// Creates an object that holds values; its constructor takes the depth first. Objects that may come to
    /// contain themselves must be passed to keep().
    template <class T, class... Rest>
    Result<Value> object(std::size_t depth, Rest&&... rest) {
        ETNA_CHECK(check_depth(depth));
        ETNA_CHECK(spend(sizeof(T)));
        return Value(std::shared_ptr<Object>(std::make_shared<T>(depth, std::forward<Rest>(rest)...)));
    }
    Status keep(std::shared_ptr<Object> object);
    Status keep(const std::shared_ptr<List>& list);
    Status keep(const std::shared_ptr<Dict>& dict);
    Status check_depth(std::size_t depth) const;

    /// Copies a value from the caller of the rendering into the rendering's own containers.
    Result<Value> adopt(const Value& value);

    [[nodiscard]] Memory& memory() { return memory_; }
    [[nodiscard]] const Limits& limits() const { return limits_; }
    [[nodiscard]] Mutation mutation() const { return mutation_; }
    /// Whether {% autoescape %} is on, so that filters that return text escape HTML.
    [[nodiscard]] bool escapes() const { return escapes_; }
    void set_escapes(bool escapes) { escapes_ = escapes; }
    [[nodiscard]] int64_t now_unix_s() const { return now_unix_s_; }

    /// One level of recursion, for the lifetime of the object.
    class Level {
    public:
        explicit Level(Machine& machine) : machine_(machine) { ++machine_.levels_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        ~Level() { --machine_.levels_; }
        /// RecursionError if the limit is exceeded.
        [[nodiscard]] Status check() const;

    private:
        Machine& machine_;
    };

private:
    Result<std::shared_ptr<List>> sequence(std::vector<Value> items, bool is_tuple);

    Limits limits_;
    Mutation mutation_;
    int64_t now_unix_s_;
    bool escapes_ = false;
    Memory memory_;
    uint64_t work_ = 0;
    std::size_t levels_ = 0;
    // Values that may contain themselves, or become deeper after construction: owned until the end, then
    // cleared.
    std::vector<std::shared_ptr<Object>> kept_objects_;
    std::vector<std::shared_ptr<List>> kept_lists_;
    std::vector<std::shared_ptr<Dict>> kept_dicts_;
};

} // namespace etna::jinja
