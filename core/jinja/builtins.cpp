#include "core/jinja/builtins.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"

#include <clocale>
#include <ctime>

#include <fmt/format.h>
#include <locale.h> // NOLINT(modernize-deprecated-headers): newlocale

namespace etna::jinja {
namespace {

// ---- refused names

constexpr std::string_view refused_functions = " cycler dict gettext joiner lipsum ngettext ";
constexpr std::string_view refused_methods =
    " as_integer_ratio bit_count bit_length casefold center changed clear conjugate count cycle encode "
    "expandtabs format_map fromhex fromkeys hex index insert is_integer isalnum isalpha isascii "
    "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper ljust maketrans "
    "partition popitem remove removeprefix removesuffix reverse rfind rindex rjust rpartition rsplit "
    "setdefault sort splitlines swapcase to_bytes translate zfill ";

bool has_word(std::string_view words, std::string_view name) {
    return words.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

// ---- tests

template <Type type>
Result<Value> has_type(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(type));
}

template <Comparison sign>
Result<Value> compares(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool holds, compare(machine, sign, self, *arguments.at(0)));
    return Value(holds);
}

template <int64_t expected>
Result<Value> parity_is(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto remainder, binary(machine, Operator::modulo, self, Value(int64_t{2})));
    ETNA_TRY(const bool same, equal(machine, remainder, Value(expected)));
    return Value(same);
}

template <bool expected>
Result<Value> truth_is(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(Type::boolean) && self.boolean() == expected);
}

/// A test of the value alone.
template <bool (*holds)(const Value&)>
Result<Value> holds_for(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(holds(self));
}

bool is_defined(const Value& value) {
    return !value.is(Type::undefined);
}

bool is_integer(const Value& value) {
    return value.is(Type::integer) || value.is(Type::large);
}

bool is_callable(const Value& value) {
    return value.is(Type::undefined) || (value.is(Type::object) && value.object()->is_callable());
}

/// Whether the value has a length and items; true for dicts, as in the reference.
bool is_sequence(const Value& value) {
    return value.is(Type::undefined) || value.is(Type::string) || value.is(Type::dict) ||
           indexed_items(value) != nullptr;
}

Result<Value> is_same(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    return Value(self.same_as(*arguments.at(0)));
}

constexpr Native tests_table[] = {
    {"!=", "other", 1, compares<Comparison::unequal>},
    {"<", "other", 1, compares<Comparison::less>},
    {"<=", "other", 1, compares<Comparison::less_equal>},
    {"==", "other", 1, compares<Comparison::equal>},
    {">", "other", 1, compares<Comparison::greater>},
    {">=", "other", 1, compares<Comparison::greater_equal>},
    {"boolean", "", 0, has_type<Type::boolean>},
    {"callable", "", 0, holds_for<is_callable>},
    {"defined", "", 0, holds_for<is_defined>},
    {"eq", "other", 1, compares<Comparison::equal>},
    {"equalto", "other", 1, compares<Comparison::equal>},
    {"even", "", 0, parity_is<0>},
    {"false", "", 0, truth_is<false>},
    {"float", "", 0, has_type<Type::real>},
    {"ge", "other", 1, compares<Comparison::greater_equal>},
    {"greaterthan", "other", 1, compares<Comparison::greater>},
    {"gt", "other", 1, compares<Comparison::greater>},
    {"in", "seq", 1, compares<Comparison::in>},
    {"integer", "", 0, holds_for<is_integer>},
    {"iterable", "", 0, holds_for<is_iterable>},
    {"le", "other", 1, compares<Comparison::less_equal>},
    {"lessthan", "other", 1, compares<Comparison::less>},
    {"lt", "other", 1, compares<Comparison::less>},
    {"mapping", "", 0, has_type<Type::dict>},
    {"ne", "other", 1, compares<Comparison::unequal>},
    {"none", "", 0, has_type<Type::none>},
    {"number", "", 0, holds_for<is_number>},
    {"odd", "", 0, parity_is<1>},
    {"sameas", "other", 1, is_same},
    {"sequence", "", 0, holds_for<is_sequence>},
    {"string", "", 0, has_type<Type::string>},
    {"true", "", 0, truth_is<true>},
    {"undefined", "", 0, has_type<Type::undefined>},
};

// ---- global functions

/// A global function.
class Function final : public Object {
public:
    using Run = Result<Value> (*)(Machine& machine, Arguments& arguments);
    explicit Function(Run run) : run_(run) {}

    [[nodiscard]] std::string_view type_name() const override { return "function"; }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& machine, Arguments&& arguments) override { return run_(machine, arguments); }

private:
    Run run_;
};

/// Returns the only argument, which may be named; TypeError for any others.
Result<Value> only_argument(Arguments& arguments, std::string_view function, std::string_view name) {
    if (auto named = arguments.take(name))
        arguments.positional.push_back(std::move(*named));
    if (arguments.positional.size() == 1 && arguments.keyword.empty())
        return arguments.positional[0];
    return type_error("{}() takes exactly one argument, the {}", function, name);
}

Result<Value> raise_exception(Machine& machine, Arguments& arguments) {
    ETNA_TRY(const auto given, only_argument(arguments, "raise_exception", "message"));
    ETNA_TRY(const auto message, to_text(machine, given));
    return Error{.kind = ErrorKind::invalid_argument,
                 .message = message,
                 .hint = "the model's chat template refuses this conversation"};
}

/// Formats the time of the rendering (UTC) with strftime's format, in English. The C library does not format
/// fractions of a second and the zone as Python does.
Result<Value> strftime_now(Machine& machine, Arguments& arguments) {
    constexpr std::size_t time_bytes_max = 4096;
    ETNA_TRY(const auto given, only_argument(arguments, "strftime_now", "format"));
    ETNA_TRY(const auto format, string_argument(given, "strftime"));
    for (const std::string_view field : {"%f", "%z", "%Z"}) {
        if (format.find(field) != std::string::npos)
            return value_error("strftime_now: '{}' is not supported", field);
    }
    const std::time_t time = machine.now_unix_s();
    std::tm parts = {};
    if (gmtime_r(&time, &parts) == nullptr)
        return value_error("year is out of range");
    static const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr); // lives as long as the process
    char buffer[time_bytes_max];
    const std::string marked = format + "."; // distinguishes an empty result from an overflow
    const std::size_t bytes = strftime_l(buffer, sizeof buffer, marked.c_str(), &parts, english);
    if (bytes == 0)
        return limit_error("a time of more than 4096 bytes");
    return machine.text(std::string(buffer, bytes - 1));
}

Result<Value> make_namespace(Machine& machine, Arguments& arguments) {
    if (!arguments.positional.empty())
        return type_error("namespace() takes only keyword arguments");
    ETNA_TRY(auto value, machine.object<Namespace>(0));
    ETNA_CHECK(machine.keep(value.object()));
    for (const auto& [name, attribute] : arguments.keyword)
        ETNA_CHECK(as_namespace(*value.object())->set(machine, name, attribute));
    return value;
}

const Native* find_filter(std::string_view name) {
    const Native* found = find_native(text_filters(), name);
    return found != nullptr ? found : find_native(sequence_filters(), name);
}

} // namespace

bool is_filter(std::string_view name) {
    return find_filter(name) != nullptr;
}

bool is_test(std::string_view name) {
    return find_native(tests_table, name) != nullptr;
}

bool is_refused_function(std::string_view name) {
    return has_word(refused_functions, name);
}

bool is_refused_method(std::string_view name) {
    return has_word(refused_methods, name);
}

Result<Value> call_filter(Machine& machine, std::string_view name, const Value& value, Arguments arguments) {
    const Native* filter = find_filter(name);
    if (filter == nullptr)
        return python_error("TemplateRuntimeError", "No filter named '{}' found.", name);
    return call_native(machine, *filter, value, std::move(arguments));
}

Result<Value> call_test(Machine& machine, std::string_view name, const Value& value, Arguments arguments) {
    const Native* test = find_native(tests_table, name);
    if (test == nullptr)
        return python_error("TemplateRuntimeError", "No test named '{}' found.", name);
    return call_native(machine, *test, value, std::move(arguments));
}

OptionalValue global_value(std::string_view name) {
    constexpr std::pair<std::string_view, Function::Run> globals[] = {
        {"namespace", make_namespace},
        {"raise_exception", raise_exception},
        {"range", [](Machine& machine, Arguments& arguments) { return make_range(machine, arguments); }},
        {"strftime_now", strftime_now},
    };
    for (const auto& [known, run] : globals) {
        if (known == name)
            return Value(std::shared_ptr<Object>(std::make_shared<Function>(run)));
    }
    return {};
}

Result<bool> flag(Machine& machine, const Value* argument, bool fallback) {
    return argument != nullptr ? is_true(machine, *argument) : Result<bool>(fallback);
}

Status Namespace::set(Machine& machine, std::string_view name, const Value& value) {
    ETNA_CHECK(machine.reserve(sizeof(Dict::Entry)));
    attributes_.set(Value(name), value);
    return {};
}

Result<OptionalValue> Namespace::attribute(Machine& /*machine*/, std::string_view name) {
    const Value* found = attributes_.find(name);
    return found != nullptr ? OptionalValue(*found) : std::nullopt;
}

Namespace* as_namespace(Object& object) {
    return dynamic_cast<Namespace*>(&object);
}

} // namespace etna::jinja
