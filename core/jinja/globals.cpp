#include "core/jinja/globals.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sequences.hpp"
#include "core/jinja/time_format.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// A global function.
class Function final : public Object {
public:
    using Run = Result<Value> (*)(Machine& machine, Arguments& arguments);
    Function(std::string_view description, Run run, std::span<const Native> methods)
        : description_(description), run_(run), methods_(methods) {}

    [[nodiscard]] std::string_view type_name() const override { return "function"; }
    Result<std::string> repr(Machine& /*machine*/) override { return description_; }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& machine, Arguments&& arguments) override { return run_(machine, arguments); }
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override {
        const Native* method = find_native(methods_, name);
        if (method == nullptr)
            return std::optional<Value>();
        ETNA_TRY(auto bound, bound_method(machine, Value(shared_from_this()), *method));
        return std::optional<Value>(std::move(bound));
    }

private:
    std::string description_;
    Run run_;
    std::span<const Native> methods_; ///< class methods, such as dict.fromkeys()
};

Result<Value> raise_exception(Machine& machine, Arguments& arguments) {
    if (auto named = arguments.take("message"))
        arguments.positional.push_back(std::move(*named));
    if (arguments.positional.size() != 1 || !arguments.keyword.empty())
        return type_error("raise_exception() takes exactly one argument, the message");
    ETNA_TRY(const auto message, to_text(machine, arguments.positional[0]));
    return Error{.kind = ErrorKind::invalid_argument,
                 .message = message,
                 .hint = "the model's chat template refuses this conversation"};
}

Result<Value> strftime_now(Machine& machine, Arguments& arguments) {
    if (auto named = arguments.take("format"))
        arguments.positional.push_back(std::move(*named));
    if (arguments.positional.size() != 1 || !arguments.keyword.empty())
        return type_error("strftime_now() takes exactly one argument, the format");
    ETNA_TRY(const auto format, string_argument(arguments.positional[0], "strftime"));
    ETNA_TRY(auto text, time_text(machine.now_unix_s(), format));
    return machine.text(std::move(text));
}

/// Returns the entries of dict(...) and namespace(...): those of a mapping or of pairs, then keyword
/// arguments.
Result<std::vector<Dict::Entry>> entries_of(Machine& machine, const Arguments& arguments) {
    std::vector<Dict::Entry> entries;
    if (arguments.positional.size() > 1) {
        return type_error(
            fmt::format("dict expected at most 1 argument, got {}", arguments.positional.size()));
    }
    if (!arguments.positional.empty()) {
        const Value& given = arguments.positional[0];
        if (given.is(Type::undefined))
            return undefined_error(given);
        if (given.is(Type::dict)) {
            entries = given.dict()->entries;
        } else {
            ETNA_TRY(const auto pairs, items_of(machine, given));
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                if (!is_iterable(machine, pairs[i])) {
                    return type_error(fmt::format(
                        "cannot convert dictionary update sequence element #{} to a sequence", i));
                }
                ETNA_TRY(const auto parts, items_of(machine, pairs[i]));
                if (parts.size() != 2) {
                    return value_error(
                        fmt::format("dictionary update sequence element #{} has length {}; 2 is "
                                    "required",
                                    i, parts.size()));
                }
                entries.push_back({parts[0], parts[1]});
            }
        }
    }
    for (const auto& [name, value] : arguments.keyword)
        entries.push_back({Value(name), value});
    return entries;
}

Result<Value> make_dict(Machine& machine, Arguments& arguments) {
    ETNA_TRY(auto entries, entries_of(machine, arguments));
    return machine.dict(std::move(entries));
}

Result<Value> make_namespace(Machine& machine, Arguments& arguments) {
    ETNA_TRY(const auto entries, entries_of(machine, arguments));
    ETNA_TRY(auto value, machine.object<Namespace>(0));
    ETNA_CHECK(machine.keep(value.object()));
    for (const Dict::Entry& entry : entries) {
        if (entry.key.is(Type::string))
            ETNA_CHECK(as_namespace(*value.object())->set(machine, entry.key.string(), entry.value));
    }
    return value;
}

class Cycler final : public Object {
public:
    Cycler(std::size_t depth, std::vector<Value> items) : Object(depth), items_(std::move(items)) {}

    [[nodiscard]] std::string_view type_name() const override { return "Cycler"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.utils.Cycler object"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return std::string("<jinja2.utils.Cycler object>");
    }
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override;
    Value next() {
        const Value item = items_[place_];
        place_ = (place_ + 1) % items_.size();
        return item;
    }
    void reset() { place_ = 0; }

private:
    std::vector<Value> items_;
    std::size_t place_ = 0;
};

constexpr Native cycler_methods[] = {
    {"next", "", 0,
     [](Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
         return Result<Value>(static_cast<Cycler&>(*self.object()).next());
     }},
    {"reset", "", 0,
     [](Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
         static_cast<Cycler&>(*self.object()).reset();
         return Result<Value>(None{});
     }},
};

Result<std::optional<Value>> Cycler::attribute(Machine& machine, std::string_view name) {
    if (name == "current")
        return std::optional<Value>(items_[place_]);
    const Native* method = find_native(cycler_methods, name);
    if (method == nullptr)
        return std::optional<Value>();
    ETNA_TRY(auto bound, bound_method(machine, Value(shared_from_this()), *method));
    return std::optional<Value>(std::move(bound));
}

Result<Value> make_cycler(Machine& machine, Arguments& arguments) {
    if (arguments.positional.empty() || !arguments.keyword.empty())
        return python_error("RuntimeError", "at least one item has to be provided");
    std::size_t depth = 1;
    for (const Value& item : arguments.positional)
        depth = std::max(depth, item.depth() + 1);
    return machine.object<Cycler>(depth, std::move(arguments.positional));
}

class Joiner final : public Object {
public:
    Joiner(std::size_t depth, Value separator) : Object(depth), separator_(std::move(separator)) {}

    [[nodiscard]] std::string_view type_name() const override { return "Joiner"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.utils.Joiner object"; }
    Result<std::string> repr(Machine& /*machine*/) override {
        return std::string("<jinja2.utils.Joiner object>");
    }
    [[nodiscard]] bool is_callable() const override { return true; }
    Result<Value> call(Machine& /*machine*/, Arguments&& /*arguments*/) override {
        return std::exchange(was_used_, true) ? separator_ : Value("");
    }

private:
    Value separator_;
    bool was_used_ = false;
};

Result<Value> make_joiner(Machine& machine, Arguments& arguments) {
    if (auto named = arguments.take("sep"))
        arguments.positional.push_back(std::move(*named));
    if (arguments.positional.size() > 1)
        return type_error("joiner() takes at most one argument, the separator");
    Value separator = arguments.positional.empty() ? Value(", ") : arguments.positional[0];
    const std::size_t depth = separator.depth() + 1;
    return machine.object<Joiner>(depth, std::move(separator));
}

/// Methods of dict that can be called without an instance.
std::span<const Native> class_methods_of_dict() {
    return {find_native(dict_methods(), "fromkeys"), 1};
}

} // namespace

Status Namespace::set(Machine& machine, std::string_view name, const Value& value) {
    ETNA_CHECK(machine.reserve(sizeof(Dict::Entry)));
    attributes_.set(Value(name), value);
    return {};
}

Result<std::string> Namespace::repr(Machine& machine) {
    ETNA_TRY(const auto dict, machine.dict(attributes_.entries));
    ETNA_TRY(const auto text, to_repr(machine, dict));
    return "<Namespace " + text + ">";
}

Result<std::optional<Value>> Namespace::attribute(Machine& /*machine*/, std::string_view name) {
    const Value* found = attributes_.find(name);
    return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
}

Namespace* as_namespace(Object& object) {
    return dynamic_cast<Namespace*>(&object);
}

std::optional<Value> global_value(std::string_view name) {
    struct Global {
        std::string_view name;
        std::string_view description;
        Function::Run run;
    };
    constexpr Global globals[] = {
        {"cycler", "<class 'jinja2.utils.Cycler'>", make_cycler},
        {"dict", "<class 'dict'>", make_dict},
        {"joiner", "<class 'jinja2.utils.Joiner'>", make_joiner},
        {"namespace", "<class 'jinja2.utils.Namespace'>", make_namespace},
        {"raise_exception", "<function raise_exception>", raise_exception},
        {"range", "<function safe_range>",
         [](Machine& machine, Arguments& arguments) { return make_range(machine, arguments); }},
        {"strftime_now", "<function strftime_now>", strftime_now},
    };
    for (const Global& global : globals) {
        if (global.name != name)
            continue;
        return Value(std::shared_ptr<Object>(std::make_shared<Function>(
            global.description, global.run,
            name == "dict" ? class_methods_of_dict() : std::span<const Native>())));
    }
    return {};
}

} // namespace etna::jinja
