#include "core/jinja/brace_format.hpp"

#include "core/jinja/access.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/number_format.hpp"
#include "core/jinja/print.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int fields_in_fields_max = 2; ///< as in Python: a specification may contain fields, those may not

class BraceFormat {
public:
    BraceFormat(Machine& machine, const Arguments& arguments, bool is_markup)
        : machine_(machine), arguments_(arguments), is_markup_(is_markup) {}

    Result<std::string> run(std::string_view format, int depth_left);

private:
    Result<std::string> field(std::string_view inside, int depth_left);
    Result<Value> first_value(std::string_view name);
    Result<Value> look_up(std::string_view path);

    Machine& machine_;
    const Arguments& arguments_;
    bool is_markup_;
    std::size_t next_ = 0; ///< index of the next unnamed field
};

std::optional<std::size_t> number_of(std::string_view text) {
    std::size_t number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
        return {};
    return number;
}

Result<Value> BraceFormat::first_value(std::string_view name) {
    const auto number = name.empty() ? std::optional<std::size_t>(next_++) : number_of(name);
    if (number) {
        if (*number >= arguments_.positional.size()) {
            return python_error("IndexError", fmt::format("Replacement index {} out of range for positional "
                                                          "args tuple",
                                                          *number));
        }
        return arguments_.positional[*number];
    }
    for (const auto& [keyword, value] : arguments_.keyword) {
        if (keyword == name)
            return value;
    }
    return python_error("KeyError", quoted(name));
}

/// Evaluates `name.attribute[index]...`
Result<Value> BraceFormat::look_up(std::string_view path) {
    const std::size_t name_end = std::min(path.find_first_of(".["), path.size());
    ETNA_TRY(auto value, first_value(path.substr(0, name_end)));
    path.remove_prefix(name_end);
    while (!path.empty()) {
        if (path[0] == '.') {
            const std::size_t end = std::min(path.find_first_of(".[", 1), path.size());
            ETNA_TRY(value, attribute(machine_, value, path.substr(1, end - 1)));
            path.remove_prefix(end);
            continue;
        }
        const std::size_t end = path.find(']');
        if (path[0] != '[' || end == std::string_view::npos)
            return value_error("Missing ']' in format string");
        const std::string_view index = path.substr(1, end - 1);
        const auto number = number_of(index);
        const Value key = number ? Value(static_cast<int64_t>(*number)) : Value(index);
        ETNA_TRY(value, subscript(machine_, value, key));
        path.remove_prefix(end + 1);
    }
    return value;
}

Result<std::string> BraceFormat::field(std::string_view inside, int depth_left) {
    std::size_t end = 0;
    for (int open = 0; end < inside.size() && (open > 0 || (inside[end] != ':' && inside[end] != '!')); ++end)
        open += inside[end] == '[' ? 1 : (inside[end] == ']' ? -1 : 0);
    ETNA_TRY(auto value, look_up(inside.substr(0, end)));
    char conversion = 0;
    if (end < inside.size() && inside[end] == '!') {
        conversion = end + 1 < inside.size() ? inside[end + 1] : '\0';
        end += 2;
        if (conversion != 'r' && conversion != 's' && conversion != 'a')
            return value_error(fmt::format("Unknown conversion specifier {}", conversion));
    }
    std::string spec_text;
    if (end < inside.size()) {
        if (inside[end] != ':')
            return value_error("expected ':' after conversion specifier");
        ETNA_TRY(spec_text, run(inside.substr(end + 1), depth_left - 1));
    }
    if (conversion != 0) {
        ETNA_TRY(auto text, conversion == 's' ? to_text(machine_, value) : to_repr(machine_, value));
        value = Value(conversion == 'a' ? ascii_only(text) : text);
    }
    ETNA_TRY(const auto spec, parse_format_spec(spec_text));
    ETNA_TRY(auto text, formatted(machine_, value, spec));
    return is_markup_ && !value.is_markup() ? escaped(text) : text;
}

Result<std::string> BraceFormat::run(std::string_view format, int depth_left) {
    if (depth_left == 0)
        return value_error("Max string recursion exceeded");
    std::string out;
    for (std::size_t position = 0; position < format.size(); ++position) {
        const char letter = format[position];
        const bool is_doubled = position + 1 < format.size() && format[position + 1] == letter;
        if ((letter == '{' || letter == '}') && is_doubled) {
            ++position;
        } else if (letter == '}') {
            return value_error("Single '}' encountered in format string");
        }
        if (letter != '{' || is_doubled) {
            out += letter;
            continue;
        }
        std::size_t end = position + 1;
        for (int open = 1; end < format.size(); ++end) {
            open += format[end] == '{' ? 1 : (format[end] == '}' ? -1 : 0);
            if (open == 0)
                break;
        }
        if (end == format.size()) {
            return value_error(end == position + 1 ? "Single '{' encountered in format string"
                                                   : "expected '}' before end of string");
        }
        ETNA_TRY(const auto part, field(format.substr(position + 1, end - position - 1), depth_left));
        ETNA_CHECK(machine_.spend(part.size() + step_work));
        ETNA_CHECK(machine_.room_for(out.size() + part.size()));
        out += part;
        position = end;
    }
    return out;
}

} // namespace

Result<Value> brace_format(Machine& machine, const Value& format, const Arguments& arguments) {
    ETNA_CHECK(machine.reserve(format.string().size()));
    BraceFormat run(machine, arguments, format.is_markup());
    ETNA_TRY(auto text, run.run(format.string(), fields_in_fields_max));
    return machine.text(std::move(text), format.is_markup());
}

} // namespace etna::jinja
