#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/expression.hpp"
#include "core/grammar/hash_index.hpp"
#include "core/grammar/step_budget.hpp"
#include "core/grammar/transitions.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

/// Whether an expression contains the empty string; unknown while it has unsealed rules.
enum class Nullable : uint8_t { no, yes, unknown };

/// Builds expressions of smaller ones, and stores each once, within bounds of memory and steps. The part of
/// Language that knows no derivatives. When `bytes_max` are in use, is_full() is true and new expressions are
/// `nothing`. Not thread-safe.
class Expressions {
public:
    explicit Expressions(std::size_t bytes_max);
    Expressions(const Expressions&) = delete;
    Expressions& operator=(const Expressions&) = delete;

    /// One byte of `set`.
    Expression bytes(const ByteSet& set);
    /// Exactly this string.
    Expression literal(std::string_view text);
    /// Any of these strings; common prefixes and suffixes are shared.
    Expression any_of(std::vector<std::string> texts);
    /// Concatenation, in order.
    Expression sequence(Expression first, Expression second);
    Expression sequence(std::span<const Expression> parts);
    /// Union. The node's children ascend, but a set of bytes is last.
    Expression either(std::span<const Expression> alternatives);
    Expression either(Expression a, Expression b);
    Expression optional(Expression item) { return either(item, empty); }
    /// `item`, from `min` to `max` times. Precondition: min <= max.
    Expression repeat(Expression item, uint32_t min, uint32_t max = unbounded);
    /// The same strings, treated as one unit: see Masks.
    Expression unit(Expression content);
    /// The strings that an automaton accepts from its first state.
    Expression accepted(const Automaton& automaton);

    /// A rule, to be defined before seal(); an undefined rule matches no text. `name` is for errors.
    Expression rule(std::string name);
    /// Precondition: `rule` came from rule(), and is not defined yet.
    void define(Expression rule, Expression definition);

    /// Whether it contains the empty string: a text may end here. Precondition: it comes from seal() or
    /// next(), or contains no rules.
    [[nodiscard]] bool is_nullable(Expression expression) const;

    /// Returns the definition of a rule. Precondition: `rule` came from rule(), and is sealed.
    [[nodiscard]] Expression definition(Expression rule) const { return definition(nodes_[rule]); }
    [[nodiscard]] Expression definition(const Node& rule) const { return *rules_[rule.index].definition; }

    [[nodiscard]] const Node& node(Expression expression) const { return nodes_[expression]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// Approximate memory use in bytes.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool is_full() const { return is_full_; }

    /// Whether memory and step budget are left. Errors: unsupported (memory or step budget is spent),
    /// cancelled (its `stop` returned true; see set_step_budget()).
    [[nodiscard]] Status check() const;

    using Stop = StepBudget::Stop;

    /// Sets the step budget (a step is about 10 ns). When it is spent, is_out_of_steps() is true, and next()
    /// returns `nothing` for uncached results and new expressions until the budget is renewed. Unlimited at
    /// first. `is_building`: new expressions are charged for all work until they are sealed; seal() and
    /// automaton() fail when the budget is spent. `stop`: spends the budget early by returning true; borrowed
    /// until the next call, may be null or empty.
    void set_step_budget(uint64_t steps, bool is_building = false, const Stop* stop = nullptr);
    [[nodiscard]] uint64_t steps_left() const { return budget_.left(); }
    [[nodiscard]] bool is_out_of_steps() const { return budget_.is_spent(); }
    /// Whether `stop` spent the budget.
    [[nodiscard]] bool is_stopped() const { return budget_.is_stopped(); }
    /// Whether next() may return `nothing` merely for lack of memory or budget.
    [[nodiscard]] bool is_spent() const { return is_full_ || is_out_of_steps(); }
    [[nodiscard]] bool is_building() const { return is_building_; }
    /// Charges `count` steps; callers charge their own work on the language, such as reading cached results.
    void charge_steps(std::size_t count) { budget_.charge(count); }

    // For the parts of a Language.

    /// Adds a node, or returns the equal one that exists. The caller knows whether it is nullable, if its
    /// kind is counted or distinct.
    Expression add(Node node);
    Expression add(Node node, Nullable nullable);
    [[nodiscard]] Nullable nullable(Expression expression) const { return nullable_[expression]; }

    /// The cached results of next(), which Derivatives fills; stored here, so that a node and its results are
    /// added, and counted, together.
    [[nodiscard]] const Transitions& transitions(Expression from) const { return transitions_[from]; }
    [[nodiscard]] Transitions& transitions(Expression from) { return transitions_[from]; }

    /// Stores an automaton once. Returns its number, an index of nodes.
    uint32_t number_of(const Automaton& automaton);
    [[nodiscard]] const Automaton& automaton_at(uint32_t number) const { return automata_[number]; }

    /// Counts memory that a part has allocated. add() checks the limit, and so does check_bytes(), which
    /// returns false, and marks the expressions full, if it is exceeded.
    void charge_bytes(std::size_t bytes) { bytes_ += bytes; }
    bool check_bytes();

protected:
    void mark_full() { is_full_ = true; }

private:
    friend class Sealing;
    struct Rule {
        std::string name;
        std::optional<Expression> definition = {};
    };

    [[nodiscard]] Nullable nullable_of(const Node& node) const;
    template <typename NullableOf>
    Expression find_or_add(Node node, const NullableOf& nullable_of);

    std::size_t bytes_max_;
    std::size_t bytes_ = 0;  ///< approximate size of the members below, and what charge_bytes() adds
    std::deque<Node> nodes_; ///< references stay valid, and growth moves no element
    std::vector<Nullable> nullable_;
    std::deque<Transitions> transitions_;
    std::array<HashIndex, 64> by_hash_; ///< by the first bits of a hash: each table grows separately
    std::vector<Automaton> automata_;
    std::vector<Rule> rules_; ///< by Node::index
    StepBudget budget_;
    bool is_building_ = false; ///< see set_step_budget()
    bool is_full_ = false;
};

} // namespace etna::grammar
