#include "core/jinja/percent_format.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/number_format.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

class PercentFormat {
public:
    PercentFormat(Machine& machine, const Value& format, const Value& arguments)
        : machine_(machine), format_(format.string()), arguments_(arguments), is_markup_(format.is_markup()) {
    }

    Result<std::string> run();

private:
    struct Place {
        FormatSpec spec;
        bool left = false;
        bool zeros = false;
        std::optional<Value> named; ///< of %(name)s
    };

    Result<Value> next_argument();
    Result<Place> place();
    Result<int64_t> count(bool is_width, Place& place);
    Result<std::string> conversion(Place& place);
    Result<std::string> number(Place& place, const Value& value);
    Result<std::string> text(const Place& place, const Value& value);
    [[nodiscard]] char peek() const { return position_ < format_.size() ? format_[position_] : '\0'; }

    Machine& machine_;
    const std::string& format_;
    const Value& arguments_;
    bool is_markup_;
    std::size_t position_ = 0;
    std::size_t used_ = 0;
    bool used_names_ = false;
};

Result<Value> PercentFormat::next_argument() {
    if (arguments_.is(Type::tuple)) {
        if (used_ < arguments_.sequence()->items.size())
            return arguments_.sequence()->items[used_++];
    } else if (used_++ == 0) {
        return arguments_;
    }
    return type_error("not enough arguments for format string");
}

Result<int64_t> PercentFormat::count(bool is_width, Place& place) {
    if (peek() == '*') {
        ++position_;
        ETNA_TRY(const auto value, next_argument());
        const auto given = integer_of(value);
        if (!given)
            return type_error("* wants int");
        place.left = place.left || (is_width && *given < 0);
        return is_width ? std::abs(std::max(*given, -std::numeric_limits<int64_t>::max()))
                        : std::max<int64_t>(*given, 0);
    }
    int64_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++position_)
        number = std::min<int64_t>(number * 10 + (peek() - '0'), int64_t{1} << 40);
    return number;
}

Result<PercentFormat::Place> PercentFormat::place() {
    Place place;
    if (peek() == '(') {
        const std::size_t end = format_.find(')', position_);
        if (end == std::string::npos)
            return value_error("incomplete format key");
        if (!arguments_.is(Type::dict))
            return type_error("format requires a mapping");
        const std::string name = format_.substr(position_ + 1, end - position_ - 1);
        const Value* found = arguments_.dict()->find(std::string_view(name));
        if (found == nullptr)
            return python_error("KeyError", quoted(name));
        place.named = *found;
        used_names_ = true;
        position_ = end + 1;
    }
    for (; std::string_view("-+ 0#").find(peek()) != std::string_view::npos && peek() != '\0'; ++position_) {
        place.left = place.left || peek() == '-';
        place.zeros = place.zeros || peek() == '0';
        place.spec.alternate = place.spec.alternate || peek() == '#';
        if (peek() == '+' || (peek() == ' ' && place.spec.sign != '+'))
            place.spec.sign = peek();
    }
    ETNA_TRY(place.spec.width, count(true, place));
    if (peek() == '.') {
        ++position_;
        ETNA_TRY(place.spec.precision, count(false, place));
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L')
        ++position_;
    if (position_ >= format_.size())
        return value_error("incomplete format");
    place.spec.type = format_[position_++];
    place.spec.align = place.left ? '<' : '>';
    return place;
}

Result<std::string> PercentFormat::number(Place& place, const Value& value) {
    const char type = place.spec.type;
    const bool is_integer = std::string_view("diuoxX").find(type) != std::string_view::npos;
    if (!is_number(value)) {
        if (value.is(Type::undefined))
            return undefined_error(value);
        const bool is_hex = type == 'o' || type == 'x' || type == 'X';
        return type_error(is_integer ? fmt::format("%{} format: {} is required, not {}", type,
                                                   is_hex ? "an integer" : "a real number", type_name(value))
                                     : fmt::format("must be real number, not {}", type_name(value)));
    }
    if (place.zeros && !place.left) {
        place.spec.fill.assign(1, '0');
        place.spec.align = '=';
    }
    if (!is_integer) {
        ETNA_TRY(const double real, float_of(value));
        return formatted(machine_, Value(real), place.spec);
    }
    if (value.is(Type::real) && (type == 'o' || type == 'x' || type == 'X'))
        return type_error(fmt::format("%{} format: an integer is required, not float", type));
    if (value.is(Type::real) && !std::isfinite(value.real())) {
        return std::isnan(value.real())
                   ? value_error("cannot convert float NaN to integer")
                   : python_error("OverflowError", "cannot convert float infinity to integer");
    }
    place.spec.type = type == 'i' || type == 'u' ? 'd' : type;
    const Value integer = value.is(Type::real) ? integer_value(whole_text(value.real())) : value;
    FormatSpec spec = place.spec;
    const int64_t digits_min = std::exchange(spec.precision, -1);
    if (digits_min <= 0)
        return formatted(machine_, integer, spec);
    FormatSpec inner = {.fill = "0",
                        .align = '=',
                        .sign = spec.sign,
                        .alternate = spec.alternate,
                        .width = digits_min,
                        .type = spec.type};
    inner.width += integer_text(integer)[0] == '-' || spec.sign != '-' ? 1 : 0;
    inner.width += spec.alternate && spec.type != 'd' ? 2 : 0;
    if (spec.align == '=')
        inner.width = std::max(inner.width, spec.width);
    ETNA_TRY(const auto padded, formatted(machine_, integer, inner));
    return aligned(machine_, padded, spec, '>');
}

Result<std::string> PercentFormat::text(const Place& place, const Value& value) {
    std::string text;
    if (place.spec.type == 's') {
        ETNA_TRY(text, to_text(machine_, value));
    } else {
        ETNA_TRY(text, to_repr(machine_, value));
        text = place.spec.type == 'a' ? ascii_only(text) : text;
    }
    if (is_markup_ && !value.is_markup())
        text = escaped(text);
    const FormatSpec spec = place.spec;
    if (spec.precision >= 0) {
        std::u32string letters = decode(text);
        letters.resize(std::min<std::size_t>(letters.size(), static_cast<std::size_t>(spec.precision)));
        text = encode(letters);
    }
    return aligned(machine_, std::move(text), spec, '>');
}

Result<std::string> PercentFormat::conversion(Place& place) {
    const char type = place.spec.type;
    if (type == '%')
        return std::string("%");
    constexpr std::string_view known = "diuoxXeEfFgGcrsa";
    if (known.find(type) == std::string_view::npos) {
        return value_error(fmt::format("unsupported format character '{}' ({:#x}) at index {}", type,
                                       static_cast<int>(static_cast<uint8_t>(type)), position_ - 1));
    }
    Value value;
    if (place.named) {
        value = *place.named;
    } else {
        ETNA_TRY(value, next_argument());
    }
    if (type == 's' || type == 'r' || type == 'a')
        return text(place, value);
    if (type != 'c')
        return number(place, value);
    if (value.is(Type::string) && count_code_points(value.string()) == 1)
        return aligned(machine_, value.string(), place.spec, '>');
    const auto code_point = clamped_integer_of(value);
    if (!code_point)
        return type_error("%c requires int or char");
    if (*code_point < 0 || *code_point > 0x10FFFF)
        return python_error("OverflowError", "%c arg not in range(0x110000)");
    std::string character;
    append_utf8(character, static_cast<char32_t>(*code_point));
    return aligned(machine_, character, place.spec, '>');
}

Result<std::string> PercentFormat::run() {
    std::string out;
    while (position_ < format_.size()) {
        const std::size_t percent = std::min(format_.find('%', position_), format_.size());
        out += format_.substr(position_, percent - position_);
        position_ = percent;
        if (position_ == format_.size())
            break;
        ++position_;
        ETNA_TRY(auto next, place());
        ETNA_TRY(const auto part, conversion(next));
        ETNA_CHECK(machine_.spend(part.size() + step_work));
        ETNA_CHECK(machine_.room_for(out.size() + part.size()));
        out += part;
    }
    const bool is_mapping =
        !arguments_.is(Type::tuple) && !arguments_.is(Type::string) &&
        (arguments_.is(Type::dict) || arguments_.is(Type::list) || arguments_.is(Type::undefined) ||
         (arguments_.is(Type::object) &&
          arguments_.object()->is_indexable())); // those with [ ] may go unused
    const std::size_t given = arguments_.is(Type::tuple) ? arguments_.sequence()->items.size() : 1;
    if (!is_mapping && !used_names_ && used_ < given)
        return type_error("not all arguments converted during string formatting");
    return out;
}

} // namespace

Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments) {
    ETNA_CHECK(machine.reserve(format.string().size()));
    ETNA_TRY(auto text, PercentFormat(machine, format, arguments).run());
    return machine.text(std::move(text), format.is_markup());
}

} // namespace etna::jinja
