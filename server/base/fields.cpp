#include "server/base/fields.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server {

namespace {

/// "must be from 0 to 2", "must be above 0 and at most 2".
std::string range_text(double low, double high, Bound at_low, Bound at_high) {
    if (at_low == Bound::included && at_high == Bound::included)
        return fmt::format("must be from {} to {}", low, high);
    return fmt::format("must be {} {} and {} {}", at_low == Bound::included ? "at least" : "above", low,
                       at_high == Bound::included ? "at most" : "below", high);
}

/// The integer, if it fits in a signed 64-bit integer.
std::optional<int64_t> within_64_bits(const Json& number) {
    constexpr double end = 0x1p63;
    if (number.is_number_unsigned()) {
        const auto value = number.get<uint64_t>();
        constexpr uint64_t value_max = std::numeric_limits<int64_t>::max();
        return value <= value_max ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
    }
    if (number.is_number_integer())
        return number.get<int64_t>();
    // A number that fits would have been parsed as an integer; the next lower value, which does not fit,
    // rounds to -2^63.
    const auto value = number.get<double>();
    return value > -end && value < end ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

} // namespace

const Json* Fields::take(std::string_view name) {
    known_.emplace(name);
    if (problem_)
        return nullptr;
    const auto found = object_->find(std::string(name));
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> Fields::number(std::string_view name, double low, double high, Bound at_low,
                                     Bound at_high) {
    const Json* value = take(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_number())
        return refuse_type(name, "a number");
    const double number = value->get<double>();
    const bool is_below = at_low == Bound::included ? number < low : number <= low;
    const bool is_above = at_high == Bound::included ? number > high : number >= high;
    if (is_below || is_above) {
        refuse(name, range_text(low, high, at_low, at_high),
               is_below ? "decimal_below_min_value" : "decimal_above_max_value");
        return std::nullopt;
    }
    return number;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t low, int64_t high) {
    const Json* value = take(name);
    if (value == nullptr)
        return std::nullopt;
    // 5.0 is an integer in JSON; 5.5 is not, and 1e300 is out of range.
    const bool is_integer =
        value->is_number_integer() ||
        (value->is_number_float() && value->get<double>() == std::floor(value->get<double>()));
    if (!is_integer)
        return refuse_type(name, "an integer");
    const std::optional<int64_t> integer = within_64_bits(*value);
    const bool is_above = integer ? *integer > high : value->get<double>() > 0;
    if (!integer || is_above || *integer < low) {
        refuse(name, fmt::format("must be from {} to {}", low, high),
               is_above ? "integer_above_max_value" : "integer_below_min_value");
        return std::nullopt;
    }
    return integer;
}

std::optional<bool> Fields::flag(std::string_view name) {
    const Json* value = take(name);
    if (value != nullptr && !value->is_boolean())
        refuse_type(name, "true or false");
    return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

std::optional<std::string> Fields::text(std::string_view name) {
    const Json* value = take(name);
    if (value != nullptr && !value->is_string())
        refuse_type(name, "a string");
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view name, std::size_t count_max) {
    const Json* value = take(name);
    if (value == nullptr)
        return std::nullopt;
    if (value->is_string())
        return std::vector{value->get<std::string>()};
    if (!value->is_array() ||
        !std::all_of(value->begin(), value->end(), [](const Json& one) { return one.is_string(); }))
        return refuse_type(name, "a string or a list of strings");
    if (value->size() > count_max) {
        refuse(name, fmt::format("has {} strings; at most {} are allowed", value->size(), count_max),
               "array_above_max_length");
        return std::nullopt;
    }
    return value->get<std::vector<std::string>>();
}

const Json* Fields::object(std::string_view name) {
    const Json* value = take(name);
    if (value == nullptr || value->is_object())
        return value;
    refuse_type(name, "an object");
    return nullptr;
}

const Json* Fields::list(std::string_view name) {
    const Json* value = take(name);
    if (value == nullptr || value->is_array())
        return value;
    refuse_type(name, "a list");
    return nullptr;
}

const Json* Fields::any(std::string_view name) {
    return take(name);
}

std::optional<std::size_t> Fields::choice(std::string_view name,
                                          const std::vector<std::string_view>& choices) {
    const auto value = text(name);
    if (!value)
        return std::nullopt;
    const auto found = std::find(choices.begin(), choices.end(), *value);
    if (found == choices.end()) {
        refuse(name, fmt::format("must be one of {}", fmt::join(choices, ", ")), "unsupported_value");
        return std::nullopt;
    }
    return static_cast<std::size_t>(found - choices.begin());
}

std::optional<std::size_t> Fields::hint(std::string_view name, const std::vector<std::string_view>& choices) {
    const auto value = text(name);
    const auto found = value ? std::find(choices.begin(), choices.end(), *value) : choices.end();
    if (found != choices.end())
        return static_cast<std::size_t>(found - choices.begin());
    if (value)
        without_effect_.emplace_back(path_of(name));
    return std::nullopt;
}

void Fields::accept(const std::vector<std::string_view>& names) {
    known_.insert(names.begin(), names.end());
}

void Fields::note(const std::vector<std::string_view>& names) {
    for (const std::string_view name : names) {
        const Json* const value = take(name);
        if (value != nullptr && *value != false)
            without_effect_.emplace_back(path_of(name));
    }
}

void Fields::require(std::string_view name) {
    if (take(name) == nullptr)
        refuse(name, "is required", "missing_required_parameter");
}

void Fields::require_or_null(std::string_view name) {
    if (!object_->contains(name))
        require(name);
}

void Fields::refuse(std::string_view name, std::string problem, std::string code) {
    if (!problem_) {
        problem_ = ApiError{.message = fmt::format("`{}` {}", path_of(name), problem),
                            .param = path_of(name),
                            .code = std::move(code)};
    }
}

void Fields::adopt(const ApiError& problem) {
    if (!problem_)
        problem_ = problem;
}

void Fields::adopt_unknown(const std::vector<std::string>& paths) {
    nested_unknown_.insert(nested_unknown_.end(), paths.begin(), paths.end());
}

void Fields::adopt(const Fields& nested) {
    if (nested.problem_)
        adopt(*nested.problem_);
    adopt_unknown(nested.unknown());
    without_effect_.insert(without_effect_.end(), nested.without_effect_.begin(),
                           nested.without_effect_.end());
}

/// Returns nothing, for readers that return no value.
std::nullopt_t Fields::refuse_type(std::string_view name, std::string_view expected) {
    refuse(name, fmt::format("must be {}", expected), "invalid_type");
    return std::nullopt;
}

std::vector<std::string> Fields::unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : object_->items()) {
        if (!known_.contains(name))
            names.push_back(path_of(name));
    }
    names.insert(names.end(), nested_unknown_.begin(), nested_unknown_.end());
    return names;
}

std::string Fields::path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Json read_metadata(Fields& fields) {
    constexpr std::size_t pairs_max = 16;
    constexpr std::size_t name_characters_max = 64;
    constexpr std::size_t value_characters_max = 512;
    const Json* const metadata = fields.object("metadata");
    if (metadata == nullptr)
        return Json::object();
    if (metadata->size() > pairs_max) {
        fields.refuse("metadata", fmt::format("has {} pairs; the maximum is {}", metadata->size(), pairs_max),
                      "object_above_max_properties");
    }
    for (const auto& [name, value] : metadata->items()) {
        const std::string path = "metadata." + name;
        if (!value.is_string()) {
            fields.refuse(path, "must be a string", "invalid_type");
        } else if (characters_in(name) > name_characters_max ||
                   characters_in(value.get_ref<const std::string&>()) > value_characters_max) {
            fields.refuse(path,
                          fmt::format("is too long: names have at most {} characters, values {}",
                                      name_characters_max, value_characters_max),
                          "string_above_max_length");
        }
    }
    return *metadata;
}

} // namespace etna::server
