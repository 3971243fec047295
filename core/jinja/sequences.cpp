#include "core/jinja/sequences.hpp"

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
    [[nodiscard]] OptionalValue item(std::size_t index) const override {
        return Value(start_ + step_ * static_cast<int64_t>(index));
    }
    Cursor iterate() override { return cursor(start_, step_); }
    Cursor iterate_reversed() override {
        return cursor(count_ == 0 ? start_ : start_ + step_ * static_cast<int64_t>(count_ - 1), -step_);
    }
    [[nodiscard]] int64_t start() const { return start_; }
    [[nodiscard]] int64_t step() const { return step_; }

private:
    [[nodiscard]] Cursor cursor(int64_t first, int64_t step) const {
        return [first, step, count = count_, index = std::size_t{0}](Machine& /*machine*/) mutable {
            if (index == count)
                return Result<OptionalValue>(std::nullopt);
            return Result<OptionalValue>(Value(first + step * static_cast<int64_t>(index++)));
        };
    }

    int64_t start_;
    int64_t step_;
    std::size_t count_;
    int64_t stop_;
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
        ETNA_TRY(auto items, collect(machine, iterate()));
        ETNA_TRY(const auto list, machine.list(std::move(items)));
        ETNA_TRY(const auto text, to_repr(machine, list));
        return fmt::format("{}({})", type_name(), text);
    }
    Result<std::optional<std::size_t>> length(Machine& /*machine*/) override {
        return std::optional(dict_->entries.size());
    }
    Cursor iterate() override { return iterate_dict(dict_, view_, false); }
    Cursor iterate_reversed() override { return iterate_dict(dict_, view_, true); }

private:
    std::shared_ptr<Dict> dict_;
    View view_;
};

class Generator final : public Object {
public:
    Generator(std::size_t depth, std::string_view name, Cursor cursor)
        : Object(depth), name_(name), cursor_(std::make_shared<Cursor>(std::move(cursor))) {}

    [[nodiscard]] std::string_view type_name() const override { return "generator"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return fmt::format("<generator object {} at 0x000000000000>", name_); // no addresses in prompts
    }
    /// All iterations share one cursor: a generator runs only once.
    Cursor iterate() override {
        return [cursor = cursor_](Machine& machine) -> Result<OptionalValue> {
            const DepthGuard guard(machine.levels());
            ETNA_CHECK(machine.check_recursion());
            return (*cursor)(machine);
        };
    }

private:
    std::string name_;
    std::shared_ptr<Cursor> cursor_;
};

} // namespace

Cursor iterate_dict(std::shared_ptr<Dict> dict, View view, bool is_reversed) {
    const std::size_t size = dict->entries.size();
    return [dict = std::move(dict), view, is_reversed, size,
            done = std::size_t{0}](Machine& machine) mutable -> Result<OptionalValue> {
        if (dict->entries.size() != size)
            return python_error("RuntimeError", "dictionary changed size during iteration");
        if (done == size)
            return OptionalValue();
        const Dict::Entry& entry = dict->entries[is_reversed ? size - 1 - done : done];
        ++done;
        if (view != View::items)
            return OptionalValue(view == View::keys ? entry.key : entry.value);
        ETNA_TRY(auto pair, machine.pair(entry.key, entry.value));
        return OptionalValue(std::move(pair));
    };
}

Result<Value> make_range(Machine& machine, const Arguments& arguments) {
    if (!arguments.keyword.empty())
        return type_error("range() takes no keyword arguments");
    if (arguments.positional.empty() || arguments.positional.size() > 3)
        return type_error("range expected 1 to 3 arguments, got {}", arguments.positional.size());
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
        return python_error("OverflowError",
                            "Range too big. The sandbox blocks ranges larger "
                            "than MAX_RANGE ({}).",
                            count_max);
    }
    return machine.object<Range>(0, start, step, static_cast<std::size_t>(count), stop);
}

Result<Value> sliced_range(Machine& machine, const Value& range, const SlicePositions& positions) {
    const auto& source = static_cast<const Range&>(*range.object());
    const int64_t start = source.start() + source.step() * positions.start;
    int64_t step = 0;
    int64_t span = 0;
    int64_t stop = 0;
    if (__builtin_mul_overflow(source.step(), positions.step, &step) ||
        __builtin_mul_overflow(step, static_cast<int64_t>(positions.count), &span) ||
        __builtin_add_overflow(start, span, &stop))
        return python_error("OverflowError", "an integer does not fit into 64 bits");
    return machine.object<Range>(0, start, step, positions.count, stop);
}

Result<Value> make_view(Machine& machine, const Value& dict, View view) {
    return machine.object<DictView>(dict.depth() + 1, dict.dict(), view);
}

Result<Value> make_generator(Machine& machine, std::string_view name, std::size_t depth, Cursor cursor) {
    return machine.object<Generator>(depth, name, std::move(cursor));
}

} // namespace etna::jinja
