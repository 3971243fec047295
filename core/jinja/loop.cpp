#include "core/jinja/loop.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/native.hpp"
#include "core/jinja/operators.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

LoopObject& loop_of(const Value& self) {
    return static_cast<LoopObject&>(*self.object());
}

constexpr Native methods[] = {
    {"cycle", "*", 0,
     [](Machine& /*machine*/, const Value& self, const Bound& arguments) {
         return loop_of(self).cycle(arguments.all);
     }},
    {"changed", "*", 0,
     [](Machine& machine, const Value& self, const Bound& arguments) {
         return loop_of(self).changed(machine, arguments.all);
     }},
};

} // namespace

Result<bool> LoopObject::advance(Machine& machine) {
    std::optional<Value> next;
    if (after_) {
        next = std::exchange(after_, std::nullopt);
    } else {
        ETNA_TRY(next, cursor_->next(machine));
    }
    if (!next)
        return false;
    ++index0_;
    before_ = std::exchange(current_, std::move(next));
    return true;
}

Result<const std::optional<Value>*> LoopObject::peek(Machine& machine) {
    if (!after_) {
        ETNA_TRY(after_, cursor_->next(machine));
    }
    return static_cast<const std::optional<Value>*>(&after_);
}

Result<std::optional<std::size_t>> LoopObject::length(Machine& machine) {
    if (!length_) {
        std::vector<Value> rest;
        while (true) {
            ETNA_TRY(auto next, cursor_->next(machine));
            if (!next)
                break;
            ETNA_CHECK(machine.spend(sizeof(Value)));
            ETNA_CHECK(machine.room_for(rest.size() * sizeof(Value)));
            rest.push_back(std::move(*next));
        }
        length_ = rest.size() + static_cast<std::size_t>(index0_ + 1) + (after_ ? 1 : 0);
        cursor_ = std::make_unique<VectorCursor>(std::move(rest));
    }
    return length_;
}

Result<std::string> LoopObject::repr(Machine& machine) {
    ETNA_TRY(const auto count, length(machine));
    return fmt::format("<LoopContext {}/{}>", index0_ + 1, *count);
}

Result<Value> LoopObject::call(Machine& /*machine*/, Arguments&& arguments) {
    if (recursion_.interpreter == nullptr)
        return type_error("The loop must have the 'recursive' marker to be called recursively.");
    if (arguments.positional.size() != 1 || !arguments.keyword.empty())
        return type_error("loop() takes exactly one argument, what is to be iterated");
    return recursion_.interpreter->call_loop(*recursion_.loop, recursion_.scope, arguments.positional[0],
                                             level_ + 1);
}

Result<Value> LoopObject::cycle(const Arguments& arguments) const {
    if (arguments.positional.empty())
        return type_error("no items for cycling given");
    return arguments.positional[static_cast<std::size_t>(index0_) % arguments.positional.size()];
}

Result<Value> LoopObject::changed(Machine& machine, const Arguments& arguments) {
    bool is_same = was_asked_ && changed_.size() == arguments.positional.size();
    for (std::size_t i = 0; is_same && i < changed_.size(); ++i) {
        ETNA_TRY(is_same, equal(machine, changed_[i], arguments.positional[i]));
    }
    if (!was_asked_)
        ETNA_CHECK(machine.keep(shared_from_this()));
    was_asked_ = true;
    changed_ = arguments.positional;
    return Value(!is_same);
}

Result<std::optional<Value>> LoopObject::attribute(Machine& machine, std::string_view name) {
    const auto number = [](int64_t value) { return std::optional<Value>(value); };
    if (name == "index")
        return number(index0_ + 1);
    if (name == "index0")
        return number(index0_);
    if (name == "first")
        return std::optional<Value>(index0_ == 0);
    if (name == "depth" || name == "depth0")
        return number(static_cast<int64_t>(level_) + (name == "depth" ? 1 : 0));
    if (name == "length" || name == "revindex" || name == "revindex0") {
        ETNA_TRY(const auto count, length(machine));
        const auto total = static_cast<int64_t>(*count);
        return number(name == "length" ? total : total - index0_ - (name == "revindex0" ? 1 : 0));
    }
    if (name == "last" || name == "nextitem") {
        ETNA_TRY(const auto* next, peek(machine));
        if (name == "last")
            return std::optional<Value>(!next->has_value());
        return std::optional<Value>(*next ? **next : undefined("there is no next item"));
    }
    if (name == "previtem")
        return std::optional<Value>(before_ ? *before_ : undefined("there is no previous item"));
    if (const Native* method = find_native(methods, name)) {
        ETNA_TRY(auto bound, bound_method(machine, Value(shared_from_this()), *method));
        return std::optional<Value>(std::move(bound));
    }
    return std::optional<Value>();
}

} // namespace etna::jinja
