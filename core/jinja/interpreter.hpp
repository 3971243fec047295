#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::jinja {

/// Variables of one active scope, with its parent scope. Macros hold their defining scope.
class Scope {
public:
    Scope(std::shared_ptr<Scope> parent, const std::vector<std::string>& hidden)
        : parent_(std::move(parent)) {
        for (const std::string& name : hidden)
            variables_.emplace_back(name, std::nullopt);
    }

    /// Returns the variable here or in an outer scope; null if there is none. An empty optional is a variable
    /// that the template assigns later.
    [[nodiscard]] const OptionalValue* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
            for (const auto& [known, value] : scope->variables_) {
                if (known == name)
                    return &value;
            }
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

    bool is_captured = false; ///< referenced by a macro

private:
    std::shared_ptr<Scope> parent_;
    std::vector<std::pair<std::string_view, OptionalValue>> variables_;
};

/// Renders a tree once. Borrows the tree and the machine.
class Interpreter {
public:
    Interpreter(const Block& tree, Machine& machine) : tree_(tree), machine_(machine) {}
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    ~Interpreter();

    /// `context` is a dict of the template's variables, which shadow globals.
    Result<std::string> render(const Value& context);

    /// Position of the innermost expression that failed.
    [[nodiscard]] std::optional<Position> failed_at() const { return failed_at_; }

    // Called from macro objects.
    Result<Value> call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope,
                             Arguments arguments);

private:
    enum class Flow : uint8_t { onward, break_loop, continue_loop };

    /// Text being written: the output, or the text of a macro or block.
    struct Buffer {
        explicit Buffer(Memory& memory) : charge(memory, 0) {}
        std::string text;
        Charge charge;
    };

    // statements
    Result<Flow> execute(const Block& block);
    Result<Flow> execute(const Statement& statement);
    Result<Flow> run(const Statement& statement);
    Result<Flow> run_loop(const Statement& loop);
    Result<Flow> run_capture(const Statement& statement);
    Status run_call(const Statement& block);

    Status write(std::string_view text);
    /// Calls execute() with output redirected to `text`.
    template <class Execute>
    Result<Flow> capture(std::string& text, const Execute& execute);
    Result<Flow> execute_in(const Block& block, std::shared_ptr<Scope> scope);
    Result<Cursor> loop_cursor(const Statement& loop, const Value& items);
    Status assign(const Target& target, const Value& value, Scope& scope);
    Status check_namespaces(const Target& target);
    Result<Value> macro_value(const Statement& macro);
    Status bind_parameters(const Statement& macro, Arguments arguments, const std::shared_ptr<Scope>& scope);

    // expressions
    Result<Value> evaluate(const ExpressionPtr& expression) { return evaluate(*expression); }
    Result<Value> evaluate(const Expression& expression);
    Result<Value> value_of(const Expression& expression);
    Result<Value> binary_value(const Expression& expression);
    Result<Value> comparison_value(const Expression& expression);
    Result<Value> concatenated(const Expression& expression);
    Result<Value> conditional(const Expression& expression);
    Result<Value> subscript_value(const Expression& expression);
    Result<Value> dict_value(const Expression& expression);
    Result<std::vector<Value>> values_of(const std::vector<ExpressionPtr>& expressions);
    Result<Value> filtered(const Expression& filter, const Value& operand);
    /// Applies a chain of filters to `text`.
    Result<Value> filtered_text(const Expression& chain, const Value& text);
    Result<Arguments> arguments_of(const Expression& node);
    Value look_up(std::string_view name);

    const Block& tree_;
    Machine& machine_;
    std::shared_ptr<Scope> scope_;
    std::shared_ptr<Dict> context_;
    Buffer* out_ = nullptr;
    std::vector<std::shared_ptr<Scope>> captured_scopes_;
    std::optional<Position> failed_at_;
};

} // namespace etna::jinja
