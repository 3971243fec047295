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

/// The integers of a list; empty if one is negative or the items are of another type.
std::vector<uint64_t> integers_of(const gguf::Array& list) {
    return std::visit(
        [](const auto& items) -> std::vector<uint64_t> {
            using Item = typename std::decay_t<decltype(items)>::value_type;
            std::vector<uint64_t> integers;
            if constexpr (std::is_integral_v<Item> && !std::is_same_v<Item, bool>) {
                for (const Item item : items) {
                    if (std::cmp_less(item, 0))
                        return {};
                    integers.push_back(static_cast<uint64_t>(item));
                }
            }
            return integers;
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
    if (error_)
        return;
    const gguf::Value* value = file_.find(full(key));
    const std::string what = value == nullptr ? full(key) : fmt::format("{} = {}", full(key), shown(*value));
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
    const bool may_differ = std::find(layer_keys_.begin(), layer_keys_.end(), key) != layer_keys_.end();
    if (list != nullptr && !may_differ && !same_in_all_layers(*list)) {
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
    std::optional<uint64_t> value = file_.unsigned_integer(full(key));
    if (list != nullptr) {
        const std::vector<uint64_t> items = integers_of(*list);
        value = items.empty() ? std::nullopt : std::optional(items.front());
    }
    if (!value) {
        fail(ErrorKind::corrupt, key, "not an integer");
    } else if (*value < bounds.min || *value > bounds.max) {
        fail(ErrorKind::corrupt, key, fmt::format("outside {} to {}", bounds.min, bounds.max));
    } else {
        return static_cast<uint32_t>(*value);
    }
    return fallback.value_or(1);
}

std::vector<uint32_t> MetadataReader::integers(std::string_view key, IntegerBounds bounds, uint32_t layers,
                                               std::optional<uint32_t> fallback) {
    std::vector<uint32_t> values(layers, integer(key, bounds, fallback));
    const gguf::Value* value = file_.find(full(key));
    const auto* list = value == nullptr ? nullptr : std::get_if<gguf::Array>(value);
    if (list == nullptr)
        return values;
    const std::vector<uint64_t> items = integers_of(*list);
    if (items.size() != layers)
        fail(ErrorKind::corrupt, key, fmt::format("must hold {} integers", layers));
    for (std::size_t i = 0; i < items.size() && i < values.size(); ++i) {
        if (items[i] < bounds.min || items[i] > bounds.max)
            fail(ErrorKind::corrupt, key,
                 fmt::format("{} is outside {} to {}", items[i], bounds.min, bounds.max));
        else
            values[i] = static_cast<uint32_t>(items[i]);
    }
    return values;
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

std::string MetadataReader::text(std::string_view key, std::string_view fallback) {
    if (!has(key))
        return std::string(fallback);
    const std::optional<std::string_view> value = file_.text(full(key));
    if (!value)
        fail(ErrorKind::corrupt, key, "not a text");
    return std::string(value.value_or(fallback));
}

} // namespace etna::model
