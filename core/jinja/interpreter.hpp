#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"
#include "core/jinja/scope.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::jinja {

class LoopObject;

/// Whether the current part of a template escapes HTML. If {% autoescape %} has no constant argument, this is
/// known only at render time (`as_machine`).
enum class Escaping : uint8_t { off, on, as_machine };

/// Renders a tree once. Borrows the tree and the machine.
class Interpreter {
public:
    Interpreter(const Tree& tree, Machine& machine) : tree_(tree), machine_(machine) {}
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    ~Interpreter();

    /// `context` is a dict of the template's variables, which shadow globals.
    Result<std::string> render(const Value& context);

    /// Position of the innermost expression that failed.
    [[nodiscard]] std::optional<Position> failed_at() const { return failed_at_; }

    // Called from macro, loop and block objects.
    Result<Value> call_macro(const Macro& macro, const std::shared_ptr<Scope>& scope, Escaping escaping,
                             Arguments arguments);
    Result<Value> call_loop(const For& loop, const std::shared_ptr<Scope>& scope, const Value& items,
                            std::size_t depth);
    [[nodiscard]] const NamedBlock* find_block(std::string_view name) const; ///< null if not found
    Result<Value> call_block(const NamedBlock& block, const std::shared_ptr<Scope>& around);

private:
    enum class Flow : uint8_t { onward, break_loop, continue_loop };

    /// Text being written: the output, or the text of a macro or block.
    struct Buffer {
        std::string text;
        Charge charge;
    };

    // statements
    Result<Flow> execute(const Block& block);
    Result<Flow> execute(const Statement& statement);
    Result<Flow> run(const Output& output);
    Result<Flow> run(const If& choice);
    Result<Flow> run(const For& loop);
    Result<Flow> run(const Set& set);
    Result<Flow> run(const SetBlock& set);
    Result<Flow> run(const Macro& macro);
    Result<Flow> run(const CallBlock& block);
    Result<Flow> run(const FilterBlock& block);
    Result<Flow> run(const With& with);
    Result<Flow> run(const Generation& generation);
    Result<Flow> run(const Autoescape& autoescape);
    Result<Flow> run(const NamedBlock& block);
    Result<Flow> run(const Break& statement);
    Result<Flow> run(const Continue& statement);
    Result<Flow> run(const Load& load);

    Status write(std::string_view text);
    /// Executes the block in a new scope inside `parent`; writes its text to `out`.
    Result<Flow> collect(const Block& block, const Hidden& hidden, const std::shared_ptr<Scope>& parent,
                         std::string& out);
    Result<Flow> execute_in(const Block& block, std::shared_ptr<Scope> scope);
    Result<Flow> execute_block(const NamedBlock& block, const std::shared_ptr<Scope>& around);
    Result<Value> self_value(const std::shared_ptr<Scope>& around);
    [[nodiscard]] bool escapes() const;
    Result<Flow> iterate_loop(const For& loop, const std::shared_ptr<Scope>& parent, const Value& items,
                              std::size_t depth);
    Result<std::unique_ptr<Cursor>> loop_cursor(const For& loop, const std::shared_ptr<Scope>& parent,
                                                const Value& items);
    Status assign(const Target& target, const Value& value, Scope& scope);
    Status check_namespaces(const Target& target);
    Result<Value> macro_value(const Macro& macro);
    Status bind_parameters(const Macro& macro, Arguments arguments, const std::shared_ptr<Scope>& scope);
    void keep(const std::shared_ptr<Scope>& scope);

    // expressions
    Result<Value> evaluate(const ExpressionPtr& expression) { return evaluate(*expression); }
    Result<Value> evaluate(const Expression& expression);
    Result<Value> value_of(const Constant& constant, Position at);
    Result<Value> value_of(const Name& name, Position at);
    Result<Value> value_of(const Sequence& sequence, Position at);
    Result<Value> value_of(const DictLiteral& dict, Position at);
    Result<Value> value_of(const Unary& unary, Position at);
    Result<Value> value_of(const Binary& operation, Position at);
    Result<Value> value_of(const Logic& logic, Position at);
    Result<Value> value_of(const Compare& comparison, Position at);
    Result<Value> value_of(const Concatenation& parts, Position at);
    Result<Value> value_of(const Condition& condition, Position at);
    Result<Value> value_of(const Attribute& node, Position at);
    Result<Value> value_of(const Subscript& node, Position at);
    Result<Value> value_of(const Slice& slice, Position at);
    Result<Value> value_of(const Call& node, Position at);
    Result<Value> value_of(const Filter& filter, Position at);
    Result<Value> value_of(const Test& test, Position at);
    Result<Value> filtered(const Filter& filter, const Value& operand);
    Result<Value> filtered_text(const Expression& chain, const Value& text);
    Result<Arguments> arguments_of(const CallArguments& node);
    Value look_up(std::string_view name);

    const Tree& tree_;
    Machine& machine_;
    std::shared_ptr<Scope> top_; ///< top-level scope, visible in every block
    std::shared_ptr<Scope> scope_;
    std::shared_ptr<Dict> context_;
    Escaping escaping_ = Escaping::off;
    Buffer* out_ = nullptr;
    std::vector<std::shared_ptr<Scope>> kept_;
    std::optional<Position> failed_at_;
};

} // namespace etna::jinja
