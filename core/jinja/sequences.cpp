#include "core/jinja/sequences.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

class Range final : public Object {
public:
    Range(std::size_t depth, int64_t start, int64_t step, std::size_t count, int64_t stop)
        : Object(depth), start_(start), step_(step), count_(count), stop_(stop) {}

    [[nodiscard]] std::string_view type_name() const override { return "range"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        if (step_ == 1)
            return fmt::format("range({}, {})", start_, stop_);
        return fmt::format("range({}, {}, {})", start_, stop_, step_);
    }
    Result<std::optional<std::size_t>> length(Machine& /*machine*/) override { return std::optional(count_); }
    [[nodiscard]] bool is_indexable() const override { return true; }
    [[nodiscard]] std::optional<Value> item(std::size_t place) const override {
        return Value(start_ + step_ * static_cast<int64_t>(place));
    }
    Result<std::unique_ptr<Cursor>> iterate(Machine& /*machine*/) override;
    Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& /*machine*/) override;
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override {
        if (name == "start" || name == "stop" || name == "step")
            return std::optional<Value>(name == "start" ? start_ : (name == "stop" ? stop_ : step_));
        const Native* method = find_native(tuple_methods(), name);
        if (method == nullptr)
            return std::optional<Value>();
        ETNA_TRY(auto bound, bound_method(machine, Value(shared_from_this()), *method));
        return std::optional<Value>(std::move(bound));
    }
    [[nodiscard]] int64_t start() const { return start_; }
    [[nodiscard]] int64_t step() const { return step_; }

private:
    int64_t start_;
    int64_t step_;
    std::size_t count_;
    int64_t stop_;
};

class RangeCursor final : public Cursor {
public:
    RangeCursor(int64_t start, int64_t step, std::size_t count) : next_(start), step_(step), left_(count) {}

    Result<std::optional<Value>> next(Machine& /*machine*/) override {
        if (left_ == 0)
            return std::optional<Value>();
        const Value item(next_);
        if (--left_ > 0)
            next_ += step_;
        return std::optional<Value>(item);
    }

private:
    int64_t next_;
    int64_t step_;
    std::size_t left_;
};

Result<std::unique_ptr<Cursor>> Range::iterate(Machine& /*machine*/) {
    return std::unique_ptr<Cursor>(std::make_unique<RangeCursor>(start_, step_, count_));
}

Result<std::unique_ptr<Cursor>> Range::iterate_reversed(Machine& /*machine*/) {
    const int64_t last = count_ == 0 ? start_ : start_ + step_ * static_cast<int64_t>(count_ - 1);
    return std::unique_ptr<Cursor>(std::make_unique<RangeCursor>(last, -step_, count_));
}

Result<std::optional<Value>> entry_value(Machine& machine, const Dict::Entry& entry, View view) {
    if (view != View::items)
        return std::optional<Value>(view == View::keys ? entry.key : entry.value);
    ETNA_TRY(auto pair, machine.pair(entry.key, entry.value));
    return std::optional<Value>(std::move(pair));
}

class ViewCursor final : public Cursor {
public:
    ViewCursor(std::shared_ptr<Dict> dict, View view, bool is_reversed)
        : dict_(std::move(dict)), view_(view), is_reversed_(is_reversed), size_(dict_->entries.size()) {}

    Result<std::optional<Value>> next(Machine& machine) override {
        if (dict_->entries.size() != size_)
            return python_error("RuntimeError", "dictionary changed size during iteration");
        if (done_ == size_)
            return std::optional<Value>();
        const std::size_t place = is_reversed_ ? size_ - 1 - done_ : done_;
        ++done_;
        return entry_value(machine, dict_->entries[place], view_);
    }

private:
    std::shared_ptr<Dict> dict_;
    View view_;
    bool is_reversed_;
    std::size_t size_;
    std::size_t done_ = 0;
};

class DictView final : public Object {
public:
    DictView(std::size_t depth, std::shared_ptr<Dict> dict, View view)
        : Object(depth), dict_(std::move(dict)), view_(view) {}

    [[nodiscard]] std::string_view type_name() const override {
        return view_ == View::keys ? "dict_keys" : (view_ == View::values ? "dict_values" : "dict_items");
    }
    [[nodiscard]] bool is_hashable() const override { return view_ == View::values; }
    Result<std::string> repr(Machine& machine) override {
        ViewCursor cursor(dict_, view_, false);
        std::string text(type_name());
        text += "([";
        for (bool is_first = true;; is_first = false) {
            ETNA_TRY(const auto next, cursor.next(machine));
            if (!next)
                return text + "])";
            ETNA_TRY(const auto part, to_repr(machine, *next));
            ETNA_CHECK(machine.room_for(text.size() + part.size()));
            text += (is_first ? "" : ", ") + part;
        }
    }
    Result<std::optional<std::size_t>> length(Machine& /*machine*/) override {
        return std::optional(dict_->entries.size());
    }
    Result<std::unique_ptr<Cursor>> iterate(Machine& /*machine*/) override {
        return std::unique_ptr<Cursor>(std::make_unique<ViewCursor>(dict_, view_, false));
    }
    Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& /*machine*/) override {
        return std::unique_ptr<Cursor>(std::make_unique<ViewCursor>(dict_, view_, true));
    }

private:
    std::shared_ptr<Dict> dict_;
    View view_;
};

class Generator final : public Object {
public:
    Generator(std::size_t depth, std::string_view name, NextItem next)
        : Object(depth), name_(name), next_(std::move(next)) {}

    [[nodiscard]] std::string_view type_name() const override { return "generator"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return fmt::format("<generator object {} at 0x000000000000>", name_); // no addresses in prompts
    }
    Result<std::unique_ptr<Cursor>> iterate(Machine& machine) override;
    Result<std::optional<Value>> next(Machine& machine) {
        const Machine::Level level(machine);
        ETNA_CHECK(level.check());
        return next_(machine);
    }

private:
    std::string name_;
    NextItem next_;
};

class GeneratorCursor final : public Cursor {
public:
    explicit GeneratorCursor(std::shared_ptr<Generator> generator) : generator_(std::move(generator)) {}
    Result<std::optional<Value>> next(Machine& machine) override { return generator_->next(machine); }

private:
    std::shared_ptr<Generator> generator_;
};

Result<std::unique_ptr<Cursor>> Generator::iterate(Machine& /*machine*/) {
    auto self = std::static_pointer_cast<Generator>(shared_from_this());
    return std::unique_ptr<Cursor>(std::make_unique<GeneratorCursor>(std::move(self)));
}

} // namespace

Result<Value> make_range(Machine& machine, const Arguments& arguments) {
    if (!arguments.keyword.empty())
        return type_error("range() takes no keyword arguments");
    if (arguments.positional.empty() || arguments.positional.size() > 3) {
        return type_error(fmt::format("range expected at {} {} argument{}, got {}",
                                      arguments.positional.empty() ? "least" : "most",
                                      arguments.positional.empty() ? 1 : 3,
                                      arguments.positional.empty() ? "" : "s", arguments.positional.size()));
    }
    int64_t parts[3] = {0, 0, 1};
    const std::size_t first = arguments.positional.size() == 1 ? 1 : 0;
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
        ETNA_TRY(parts[first + i], integer_argument(arguments.positional[i]));
    }
    const auto [start, stop, step] = parts;
    if (step == 0)
        return value_error("range() arg 3 must not be zero");
    const bool is_empty = step > 0 ? start >= stop : start <= stop;
    const uint64_t low = static_cast<uint64_t>(step > 0 ? start : stop);
    const uint64_t high = static_cast<uint64_t>(step > 0 ? stop : start);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const uint64_t count = is_empty ? 0 : (high - low - 1) / stride + 1;
    const auto count_max = static_cast<uint64_t>(machine.limits().range_length);
    if (count > count_max) {
        return python_error("OverflowError", fmt::format("Range too big. The sandbox blocks ranges larger "
                                                         "than MAX_RANGE ({}).",
                                                         count_max));
    }
    return machine.object<Range>(0, start, step, static_cast<std::size_t>(count), stop);
}

Result<Value> sliced_range(Machine& machine, const Value& range, const SlicePlaces& places) {
    const auto& source = static_cast<const Range&>(*range.object());
    const int64_t start = source.start() + source.step() * places.start;
    int64_t step = 0;
    int64_t span = 0;
    int64_t stop = 0;
    if (__builtin_mul_overflow(source.step(), places.step, &step) ||
        __builtin_mul_overflow(step, static_cast<int64_t>(places.count), &span) ||
        __builtin_add_overflow(start, span, &stop))
        return python_error("OverflowError", "an integer does not fit into 64 bits");
    return machine.object<Range>(0, start, step, places.count, stop);
}

Result<Value> make_view(Machine& machine, const Value& dict, View view) {
    return machine.object<DictView>(dict.depth() + 1, dict.dict(), view);
}

Result<Value> make_generator(Machine& machine, std::string_view name, std::size_t depth, NextItem next) {
    return machine.object<Generator>(depth, name, std::move(next));
}

} // namespace etna::jinja
