#pragma once

#include "core/jinja/ast.hpp"
#include "core/jinja/value.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::jinja {

/// Variables of one active scope, with its parent scope. Macros keep their defining scope alive.
class Scope {
public:
    Scope(std::shared_ptr<Scope> parent, const Hidden& hidden) : parent_(std::move(parent)) {
        for (const std::string& name : hidden)
            variables_.emplace_back(name, std::nullopt);
    }

    /// Returns the variable here or in an outer scope; null if there is none. An empty optional is a variable
    /// that the template assigns later; a block ignores those of its outer scopes.
    [[nodiscard]] const std::optional<Value>* find(std::string_view name) const {
        bool is_around_block = false;
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
            for (const auto& [known, value] : scope->variables_) {
                if (known == name && (value || !is_around_block))
                    return &value;
            }
            is_around_block = is_around_block || scope->is_block;
        }
        return nullptr;
    }

    /// `name` is borrowed from the template's tree.
    void set(std::string_view name, Value value) {
        for (auto& [known, old] : variables_) {
            if (known == name) {
                old = std::move(value);
                return;
            }
        }
        variables_.emplace_back(name, std::move(value));
    }

    void clear() { variables_.clear(); }

    bool is_kept = false;  ///< referenced by a macro
    bool is_block = false; ///< scope of {% block %}

private:
    std::shared_ptr<Scope> parent_;
    std::vector<std::pair<std::string_view, std::optional<Value>>> variables_;
};

} // namespace etna::jinja
