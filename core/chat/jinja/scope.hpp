#pragma once

#include "core/chat/jinja/ast.hpp"
#include "core/chat/jinja/value.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::chat::jinja {

/// The variables of one scope under way, and the scope around it. Macros keep the scope they stand in.
class Scope {
public:
    Scope(std::shared_ptr<Scope> parent, const Hidden& hidden) : parent_(std::move(parent)) {
        for (const std::string& name : hidden)
            variables_.emplace_back(name, std::nullopt);
    }

    /// The variable here or in a scope around; null where there is none. An empty optional is one that this
    /// template assigns later; a block does not see such of the scopes around it.
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

    bool is_kept = false;  ///< a macro has it
    bool is_block = false; ///< of {% block %}

private:
    std::shared_ptr<Scope> parent_;
    std::vector<std::pair<std::string_view, std::optional<Value>>> variables_;
};

} // namespace etna::chat::jinja
