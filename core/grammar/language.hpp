#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/counted.hpp"
#include "core/grammar/expression.hpp"
#include "core/grammar/hash_index.hpp"
#include "core/grammar/paths.hpp"
#include "core/grammar/text_sets.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace etna::grammar {

/// Sets of byte strings, as expressions, and their derivatives by a byte.
///
/// Expressions are built of smaller ones and deduplicated; rules may refer to themselves, so that every
/// context-free language without left recursion can be expressed. next() returns the strings that may follow
/// a byte, as another expression, and caches it: walking a text costs one look-up per byte. A program builds
/// its rules, seals them, and then walks; it can build and seal more later.
///
/// When `bytes_max` are in use, is_full() is true and new expressions are `nothing`: a language that is too
/// large rejects texts, and never accepts one that it should not.
///
/// Sources: Brzozowski, Derivatives of regular expressions (1964); Owens, Reppy, Turon, Regular-expression
/// derivatives re-examined (2009); Might, Darais, Spiewak, Parsing with derivatives (2011).
/// Not thread-safe: next() modifies it too.
class Language {
public:
    explicit Language(std::size_t bytes_max = std::size_t{128} << 20);

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
    /// The strings of `min` to `max` characters that an automaton accepts. `characters` accepts any number
    /// of characters, including each string that `automaton` accepts; no character is a prefix of another.
    /// Errors: unsupported (too large; too many lengths), and as check().
    Result<Expression> counted(const Automaton& automaton, const Automaton& characters, uint32_t min,
                               uint32_t max);
    /// `min` to `max` comma-separated items, no two of which are the same string; at most distinct_max.
    /// Precondition: `item` contains no rules, no item begins with white space, and no item is another item
    /// followed by text that may begin with a comma. Errors: unsupported (`min` is more than distinct_max).
    Result<Expression> distinct(Expression item, Expression comma, uint32_t min, uint32_t max);
    static constexpr uint32_t distinct_max = 64;
    /// The strings of `content`, which may contain rules, that the automaton accepts as well. The result must
    /// be sealed. Precondition: `content` contains no accepted(), counted(), distinct() or within(). Errors:
    /// unsupported (the automaton has more than Paths::states_max states).
    Result<Expression> within(Expression content, const Automaton& automaton);

    /// A rule, to be defined before seal(); an undefined rule matches no text. `name` is for errors.
    Expression rule(std::string name);
    /// Precondition: `rule` came from rule(), and is not defined yet.
    void define(Expression rule, Expression definition);

    /// Completes all rules, and returns `root` without the parts that match no finite text, such as a rule
    /// that always requires itself again: every state that next() reaches from it can reach an accepting one.
    /// Errors: unsupported (a rule is left-recursive; as check()), invalid_argument (no text fits).
    Result<Expression> seal(Expression root);

    /// The automaton of an expression without rules. Errors: unsupported (more than automaton_states_max
    /// states), and as check().
    Result<Automaton> automaton(Expression regular);
    /// The strings that both accept. Errors: as grammar::intersection(), and as check().
    Result<Automaton> both(const Automaton& a, const Automaton& b);
    /// The strings that `excluded` does not accept. Errors: as grammar::complement(), and as check().
    Result<Automaton> all_but(const Automaton& excluded);

    /// The strings that may follow `byte`; `nothing` if it does not fit. Precondition: `from` comes from
    /// seal() or next(), or contains no rules.
    Expression next(Expression from, uint8_t byte);
    /// next() over all bytes of `text`.
    Expression next(Expression from, std::string_view text);
    /// Whether it contains the empty string: a text may end here. Precondition: as for next().
    [[nodiscard]] bool is_nullable(Expression expression) const;

    /// Returns the definition of a rule. Precondition: `rule` came from rule(), and is sealed.
    [[nodiscard]] Expression definition(Expression rule) const {
        return *rules_[nodes_[rule].index].definition;
    }

    /// Returns an expression that is equivalent for texts of up to `bytes` bytes: with smaller counts if
    /// `expression` is counted.
    Expression with_small_counts(Expression expression, uint32_t bytes);

    /// For an expression of Kind::distinct: a superset, in which items may repeat.
    Expression allowing_repeats(Expression distinct);
    /// The superset differs only for texts that begin with one of used_items() or are a prefix of one; for
    /// texts that may reach the end of the next item, or a point that few strings may follow
    /// (may_have_next_item()); and for all texts if there are few items.
    [[nodiscard]] std::vector<std::string> used_items(Expression distinct) const;
    bool may_have_next_item(Expression distinct, std::string_view bytes);
    bool has_few_items(Expression distinct);

    [[nodiscard]] const Node& node(Expression expression) const { return nodes_[expression]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// Approximate memory use in bytes.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool is_full() const { return is_full_; }
    /// Marks the language full, after an exception escaped from it: its cached results may be wrong.
    void give_up();

    /// Whether memory and step budget are left. Errors: unsupported (memory or step budget is spent),
    /// cancelled (its `stop` returned true; see set_step_budget()).
    [[nodiscard]] Status check() const;

    /// Polled several times per millisecond; returns true to stop.
    using Stop = std::function<bool()>;

    /// Sets the step budget (a step is about 10 ns). When it is spent, is_out_of_steps() is true, and next()
    /// returns `nothing` for uncached results and new expressions until the budget is renewed. Unlimited at
    /// first. `is_building`: new expressions are charged for all work until they are sealed; seal() and
    /// automaton() fail when the budget is spent. `stop`: spends the budget early by returning true; borrowed
    /// until the next call, may be null or empty.
    void set_step_budget(uint64_t steps, bool is_building = false, const Stop* stop = nullptr);
    [[nodiscard]] uint64_t steps_left() const { return steps_until_poll_ + steps_after_poll_; }
    [[nodiscard]] bool is_out_of_steps() const { return steps_until_poll_ == 0; }
    /// Whether `stop` spent the budget.
    [[nodiscard]] bool is_stopped() const { return is_stopped_; }
    /// Whether next() may return `nothing` merely for lack of memory or budget.
    [[nodiscard]] bool is_spent() const { return is_full_ || is_out_of_steps(); }
    /// Charges `count` steps; callers charge their own work on the language, such as reading cached results.
    void charge_steps(std::size_t count) {
        if (count < steps_until_poll_) {
            steps_until_poll_ -= count;
        } else {
            poll_stop(count);
        }
    }

private:
    /// The cached results of next() for one expression. Most are queried for few bytes only.
    struct Transitions {
        static constexpr std::size_t few_max = 6;
        static constexpr Expression unknown = UINT32_MAX;
        using Table = std::array<Expression, 256>;
        static constexpr std::size_t table_bytes = sizeof(Table);

        std::vector<std::pair<uint8_t, Expression>> few = {};
        std::unique_ptr<Table> all = {};

        [[nodiscard]] Expression find(uint8_t byte) const;
        /// Returns how many bytes of memory it allocated.
        std::size_t add(uint8_t byte, Expression target);
    };
    /// Whether an expression contains the empty string; unknown while it has unsealed rules.
    enum class Nullable : uint8_t { no, yes, unknown };

    void poll_stop(uint64_t count);
    Expression add(Node node);
    [[nodiscard]] Nullable nullable_of(const Node& node) const;
    struct Rule {
        std::string name;
        std::optional<Expression> definition = {};
    };

    Expression find_next(Expression from, uint8_t byte);
    Expression derive(Expression from, uint8_t byte);
    Expression derive_sequence(Expression from, uint8_t byte);
    Expression derive_either(Expression from, uint8_t byte);
    /// A superset of the bytes that its texts may begin with: the search is bounded.
    ByteSet first_of(Expression expression);
    ByteSet first_of(Expression expression, int& visits) const;
    /// The same for an `either` of many alternatives; cached.
    const ByteSet& first_of_alternatives(Expression many);
    uint32_t number_of(const Automaton& automaton);
    [[nodiscard]] std::vector<ByteSet> byte_sets(Expression regular) const;
    class Users;
    void find_nullable(const Users& users);
    [[nodiscard]] std::vector<bool> productive(const Users& users) const;
    [[nodiscard]] std::vector<Expression> first_parts(Expression expression) const;
    [[nodiscard]] const Rule* left_recursive() const;
    Expression without_unproductive(Expression root, const std::vector<bool>& productive);

    // counted.cpp
    /// An automaton with the states at which characters begin, and its possible character counts.
    struct Counts {
        std::pair<uint32_t, uint32_t> factors; ///< numbers of the two automata it is the product of
        uint32_t automaton = 0;                ///< number of the product
        std::vector<bool> begins = {};         ///< [state]
        std::optional<Lengths> lengths = {};
    };

    Expression add_counted(uint32_t number, uint32_t state, uint32_t min, uint32_t max);
    Expression derive_counted(const Node& node, uint8_t byte);

    // distinct.cpp
    struct List {
        Expression item = 0;
        Expression comma = 0;
        uint32_t min = 0;
        uint32_t max = 0;
    };

    Expression rest_after_items(uint32_t number, uint32_t items);
    Expression add_distinct(uint32_t number, uint32_t items, uint32_t text, Expression left);
    Expression derive_distinct(const Node& node, uint8_t byte);
    [[nodiscard]] Nullable nullable_of_distinct(const Node& node) const;
    /// All strings of an expression without rules; null if there are more than distinct_max.
    const std::vector<std::string>* few_strings(Expression regular);

    // within.cpp
    /// The paths of expressions in one automaton.
    struct PathsOf {
        Paths::States accepting = {};
        std::unordered_map<Expression, Paths> known = {};
    };

    Expression derive_within(const Node& node, uint8_t byte);
    [[nodiscard]] bool leads_to_end(const Paths& paths, uint32_t automaton, uint32_t state) const;
    [[nodiscard]] Paths paths_by_parts(Expression expression, uint32_t automaton) const;
    const Paths& paths(Expression expression, uint32_t automaton);
    [[nodiscard]] std::vector<Expression> without_paths(Expression expression, uint32_t automaton) const;
    void find_paths(Expression expression, uint32_t automaton);

    std::size_t bytes_max_;
    std::size_t bytes_ = 0;  ///< approximate size of the members below
    std::deque<Node> nodes_; ///< references stay valid, and growth moves no element
    std::vector<Nullable> nullable_;
    std::deque<Transitions> transitions_;
    std::unordered_map<Expression, ByteSet> first_of_alternatives_;
    std::array<HashIndex, 64> by_hash_; ///< by the first bits of a hash: each table grows separately
    std::vector<Automaton> automata_;
    std::vector<Counts> counts_; ///< by Node::index
    std::vector<List> lists_;    ///< by Node::index
    TextSets text_sets_;         ///< item texts of distinct() lists
    std::unordered_map<Expression, std::optional<std::vector<std::string>>> few_strings_;
    std::map<uint32_t, PathsOf> paths_; ///< by the number of an automaton
    std::vector<Rule> rules_;           ///< by Node::index
    std::size_t sealed_rules_ = 0;
    Expression sealed_nodes_ = 0;            ///< nullability and productivity are known for all before it
    uint32_t depth_ = 0;                     ///< current recursion depth of derive()
    Expression too_deep_ = nothing;          ///< expression that derive() skipped for its depth; see next()
    uint64_t steps_until_poll_ = UINT64_MAX; ///< left before the next poll of `stop_`; 0: out of steps
    uint64_t steps_after_poll_ = 0;          ///< left after that poll
    const Stop* stop_ = nullptr;             ///< null: never stopped
    bool is_stopped_ = false;
    bool is_building_ = false; ///< see set_step_budget()
    bool is_full_ = false;
};

} // namespace etna::grammar
