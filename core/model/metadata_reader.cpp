#include "core/model/metadata_reader.hpp"

#include "core/gguf/cursor.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace etna::model {
namespace {

std::string shown(const gguf::Value& value) {
    return std::visit(
        [](const auto& held) -> std::string {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, gguf::Array>) {
                return "an array";
            } else if constexpr (std::is_same_v<Held, std::string_view>) {
                return gguf::backquoted(held);
            } else {
                return fmt::format("{}", held);
            }
        },
        value);
}

constexpr const char* not_converted_right =
    "the file is damaged, incomplete or was not converted right; fetch or convert the model again";
constexpr const char* another_kind = "etna cannot run this kind of model yet; try another one";

/// The common value of a per-layer list; empty if entries differ or are not integers.
std::optional<uint64_t> same_in_all_layers(const gguf::Array& list) {
    return std::visit(
        [](const auto& items) -> std::optional<uint64_t> {
            using Item = typename std::decay_t<decltype(items)>::value_type;
            if constexpr (std::is_integral_v<Item> && !std::is_same_v<Item, bool>) {
                const auto is_first = [&](Item item) { return item == items.front(); };
                if (!items.empty() && std::cmp_greater_equal(items.front(), 0) &&
                    std::all_of(items.begin(), items.end(), is_first))
                    return static_cast<uint64_t>(items.front());
            }
            return std::nullopt;
        },
        list.items);
}

/// Integers that are not negative; empty if the list has others.
std::vector<uint64_t> integers_of(const gguf::Array& list) {
    return std::visit(
        [](const auto& items) -> std::vector<uint64_t> {
            using Item = typename std::decay_t<decltype(items)>::value_type;
            if constexpr (std::is_integral_v<Item> && !std::is_same_v<Item, bool>) {
                if (std::ranges::all_of(items, [](Item item) { return std::cmp_greater_equal(item, 0); }))
                    return {items.begin(), items.end()};
            }
            return {};
        },
        list.items);
}

/// Empty if the list has no floating-point numbers.
std::vector<double> numbers_of(const gguf::Array& list) {
    return std::visit(
        [](const auto& items) -> std::vector<double> {
            if constexpr (std::is_floating_point_v<typename std::decay_t<decltype(items)>::value_type>)
                return {items.begin(), items.end()};
            return {};
        },
        list.items);
}

/// False for NaN.
bool contains(const NumberBounds& bounds, double value) {
    return (value > bounds.min || (value == bounds.min && bounds.lower == LowerBound::inclusive)) &&
           value <= bounds.max;
}

} // namespace

std::string MetadataReader::full(std::string_view key) const {
    return architecture_ + "." + std::string(key);
}

bool MetadataReader::has(std::string_view key) const {
    return file_.find(full(key)) != nullptr;
}

void MetadataReader::fail(ErrorKind kind, std::string_view key, std::string_view why) {
    fail_at(kind, full(key), why);
}

void MetadataReader::fail_at(ErrorKind kind, const std::string& full_key, std::string_view why) {
    if (error_)
        return;
    const gguf::Value* value = file_.find(full_key);
    const std::string what = value == nullptr ? full_key : fmt::format("{} = {}", full_key, shown(*value));
    error_ = Error{.kind = kind,
                   .message = fmt::format("{}: {}: {}", file_.name(), what, why),
                   .hint = kind == ErrorKind::corrupt ? not_converted_right : another_kind};
}

Status MetadataReader::status() const {
    return error_ ? Status(*error_) : Status();
}

bool MetadataReader::usable(std::string_view key, bool required) {
    const gguf::Value* value = file_.find(full(key));
    if (value == nullptr) {
        if (required)
            fail(ErrorKind::corrupt, key, "the key is missing");
        return false;
    }
    const auto* list = std::get_if<gguf::Array>(value);
    if (list != nullptr && !same_in_all_layers(*list)) {
        fail(ErrorKind::unsupported, key, "values that differ from layer to layer are not supported");
        return false;
    }
    return true;
}

uint32_t MetadataReader::integer(std::string_view key, IntegerBounds bounds,
                                 std::optional<uint32_t> fallback) {
    if (!usable(key, !fallback))
        return fallback.value_or(1);
    const auto* list = std::get_if<gguf::Array>(file_.find(full(key)));
    const std::optional<uint64_t> value =
        list == nullptr ? file_.unsigned_integer(full(key)) : same_in_all_layers(*list);
    if (!value) {
        fail(ErrorKind::corrupt, key, "not an integer");
    } else if (*value < bounds.min || *value > bounds.max) {
        fail(ErrorKind::corrupt, key, fmt::format("outside {} to {}", bounds.min, bounds.max));
    } else {
        return static_cast<uint32_t>(*value);
    }
    return fallback.value_or(1);
}

std::vector<uint32_t> MetadataReader::integers(std::string_view key, uint32_t count, IntegerBounds bounds) {
    const gguf::Value* value = file_.find(full(key));
    const auto* list = value == nullptr ? nullptr : std::get_if<gguf::Array>(value);
    if (list == nullptr)
        return std::vector<uint32_t>(count, integer(key, bounds));
    const std::vector<uint64_t> numbers = integers_of(*list);
    const auto is_within = [&](uint64_t one) { return one >= bounds.min && one <= bounds.max; };
    if (numbers.size() != count) {
        fail(ErrorKind::corrupt, key, fmt::format("must hold {} integers that are not negative", count));
    } else if (!std::ranges::all_of(numbers, is_within)) {
        fail(ErrorKind::corrupt, key, fmt::format("has values outside {} to {}", bounds.min, bounds.max));
    } else {
        return {numbers.begin(), numbers.end()};
    }
    return std::vector<uint32_t>(count, 1);
}

std::vector<double> MetadataReader::numbers(std::string_view key, uint32_t count) {
    const gguf::Value* value = file_.find(full(key));
    const auto* list = value == nullptr ? nullptr : std::get_if<gguf::Array>(value);
    const std::optional<double> one = file_.number(full(key));
    std::vector<double> numbers =
        list == nullptr ? std::vector<double>(count, one.value_or(0)) : numbers_of(*list);
    if (value == nullptr) {
        fail(ErrorKind::corrupt, key, "the key is missing");
    } else if (numbers.size() != count || (list == nullptr && !one)) {
        fail(ErrorKind::corrupt, key, fmt::format("must hold {} numbers", count));
        numbers.assign(count, 0);
    }
    return numbers;
}

double MetadataReader::number(std::string_view key, NumberBounds bounds, std::optional<double> fallback) {
    if (!usable(key, !fallback))
        return fallback.value_or(1);
    const std::optional<double> value = file_.number(full(key));
    if (!value) {
        fail(ErrorKind::corrupt, key, "not a number");
    } else if (!contains(bounds, *value)) {
        fail(ErrorKind::corrupt, key,
             fmt::format("must be {} {} and at most {}",
                         bounds.lower == LowerBound::inclusive ? "at least" : "above", bounds.min,
                         bounds.max));
    } else {
        return *value;
    }
    return fallback.value_or(1);
}

bool MetadataReader::flag(std::string_view key, bool fallback) {
    const gguf::Value* value = file_.find(full(key));
    if (value == nullptr)
        return fallback;
    if (const bool* held = std::get_if<bool>(value))
        return *held;
    fail(ErrorKind::corrupt, key, "not a truth value");
    return fallback;
}

std::string MetadataReader::text(std::string_view key, std::string_view fallback) {
    if (!has(key))
        return std::string(fallback);
    const std::optional<std::string_view> value = file_.text(full(key));
    if (!value)
        fail(ErrorKind::corrupt, key, "not a text");
    return std::string(value.value_or(fallback));
}

} // namespace etna::model
