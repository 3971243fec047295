#pragma once

#include "core/jinja/interpreter.hpp"
#include "core/jinja/object.hpp"

#include <memory>
#include <optional>

namespace etna::jinja {

/// The variable `loop`, the state of a for loop. It also drives the loop, because it can look ahead.
class LoopObject final : public Object {
public:
    struct Recursion {
        Interpreter* interpreter = nullptr; ///< null for a loop that is not recursive
        const For* loop = nullptr;
        std::shared_ptr<Scope> scope = {};
    };

    /// `length` is the number of items, if known.
    LoopObject(std::size_t depth, std::unique_ptr<Cursor> cursor, std::optional<std::size_t> length,
               std::size_t level, Recursion recursion)
        : Object(depth), cursor_(std::move(cursor)), length_(length), level_(level),
          recursion_(std::move(recursion)) {}

    /// Advances to the next item; returns false at the end.
    Result<bool> advance(Machine& machine);
    [[nodiscard]] const Value& current() const { return *current_; }

    [[nodiscard]] std::string_view type_name() const override { return "LoopContext"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.runtime.LoopContext object"; }
    Result<std::string> repr(Machine& machine) override;
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& machine, Arguments&& arguments) override;
    Result<std::optional<std::size_t>> length(Machine& machine) override;
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override;
    void clear() override { changed_.clear(); }

    Result<Value> cycle(const Arguments& arguments) const;
    Result<Value> changed(Machine& machine, const Arguments& arguments);

private:
    Result<const std::optional<Value>*> peek(Machine& machine);

    std::unique_ptr<Cursor> cursor_;
    std::optional<std::size_t> length_;
    std::size_t level_; ///< recursion level, from 0
    Recursion recursion_;
    int64_t index0_ = -1;
    std::optional<Value> before_;
    std::optional<Value> current_;
    std::optional<Value> after_;
    std::vector<Value> changed_;
    bool was_asked_ = false; ///< `changed` was called
};

} // namespace etna::jinja
