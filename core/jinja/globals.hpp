#pragma once

#include "core/jinja/machine.hpp"

#include <optional>
#include <string_view>

namespace etna::jinja {

/// The result of namespace(): the only type with attributes that a template can assign.
class Namespace final : public Object {
public:
    explicit Namespace(std::size_t depth) : Object(depth) {}

    Status set(Machine& machine, std::string_view name, const Value& value);

    [[nodiscard]] std::string_view type_name() const override { return "Namespace"; }
    [[nodiscard]] std::string owner_name() const override { return "jinja2.utils.Namespace object"; }
    Result<std::string> repr(Machine& machine) override;
    Result<std::optional<Value>> attribute(Machine& machine, std::string_view name) override;
    void clear() override {
        attributes_.entries.clear();
        attributes_.index.clear();
    }

private:
    Dict attributes_;
};

/// Returns null for any other object.
Namespace* as_namespace(Object& object);

/// Returns a global function: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
std::optional<Value> global_value(std::string_view name);

} // namespace etna::jinja
