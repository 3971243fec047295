#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/expression.hpp"
#include "core/grammar/lengths.hpp"
#include "core/grammar/memory.hpp"
#include "core/grammar/numbers_by_hash.hpp"
#include "core/grammar/paths.hpp"
#include "core/grammar/segments.hpp"

#include <algorithm>
#include <array>
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

/// Sets of byte strings, and what is left of them after a byte.
///
/// An expression is built of smaller ones, each kept once; rules may refer to themselves, so that all
/// context-free languages without left recursion can be had. next() gives the strings that may follow a byte,
/// as another expression, and remembers it: walking a text is a look-up for each byte. A program builds its
/// rules, seals them, and walks from then on; more can be built and sealed beside them later.
///
/// When `bytes_max` are in use, is_full() is true and new expressions are `nothing`: a language that is too
/// large refuses texts, and never accepts one that it should not.
///
/// Sources: Brzozowski, Derivatives of regular expressions (1964); Owens, Reppy, Turon, Regular-expression
/// derivatives re-examined (2009); Might, Darais, Spiewak, Parsing with derivatives (2011).
/// Not thread-safe: also next() changes it.
class Language {
public:
    explicit Language(std::size_t bytes_max = std::size_t{128} << 20);

    /// One byte of `set`.
    Expression bytes(const ByteSet& set);
    /// This string alone.
    Expression literal(std::string_view text);
    /// Any of these strings; what they begin with, or end with, is there once.
    Expression any_of(std::vector<std::string> texts);
    /// One after the other.
    Expression sequence(Expression first, Expression second);
    Expression sequence(std::span<const Expression> parts);
    /// Any of them.
    Expression either(std::span<const Expression> alternatives);
    Expression either(Expression a, Expression b);
    Expression optional(Expression item) { return either(item, empty); }
    /// `item`, from `least` to `most` times. Precondition: least <= most.
    Expression repeat(Expression item, uint32_t least, uint32_t most = unbounded);
    /// The same strings, kept together: see Masks.
    Expression unit(Expression content);
    /// What an automaton accepts, from its first state on.
    Expression accepted(const Automaton& automaton);
    /// What an automaton accepts in `least` to `most` characters. `characters` accepts any number of them,
    /// and each string that `automaton` accepts; none of them begins with another. Errors: unsupported (too
    /// large; too many lengths), and as check().
    Result<Expression> counted(const Automaton& automaton, const Automaton& characters, uint32_t least,
                               uint32_t most);
    /// `least` to `most` items with commas between them, no two of which are the same string; distinct_max at
    /// most. Precondition: `item` has no rules in it, no item begins with white space, and none is another
    /// one and more that may begin with a comma. Errors: unsupported (`least` is more than distinct_max).
    Result<Expression> distinct(Expression item, Expression comma, uint32_t least, uint32_t most);
    static constexpr uint32_t distinct_max = 64;
    /// The strings of `content`, which may have rules in it, that the automaton accepts as well. To be
    /// sealed. Precondition: no accepted(), counted() or within() is a part of `content`. Errors: unsupported
    /// (the automaton has more than Paths::states_max states).
    Result<Expression> within(Expression content, const Automaton& automaton);

    /// A rule, to be defined before seal(): no text fits one that is not. `name` is for errors.
    Expression rule(std::string name);
    /// Precondition: `rule` came from rule(), and is not defined yet.
    void define(Expression rule, Expression definition);

    /// Ends the definition of all rules, and gives `root` without the parts that no finite text fits, such as
    /// a rule that always needs itself again: who follows next() from it can always come to an end.
    /// Errors: unsupported (a rule begins with itself; as check()), invalid_argument (no text fits).
    Result<Expression> seal(Expression root);

    /// The automaton of an expression without rules. Errors: unsupported (more than automaton_states_max
    /// states), and as check().
    Result<Automaton> automaton(Expression regular);
    /// The strings that both accept. Errors: as grammar::intersection(), and as check().
    Result<Automaton> both(const Automaton& a, const Automaton& b);
    /// The strings that one does not accept. Errors: as grammar::complement(), and as check().
    Result<Automaton> all_but(const Automaton& excluded);

    /// What may come after `byte`; `nothing` where it does not fit. Precondition: `from` comes from seal() or
    /// next(), or has no rules in it.
    Expression next(Expression from, uint8_t byte);
    /// next() over all bytes of `text`.
    Expression next(Expression from, std::string_view text);
    /// Whether the empty string is in it: a text may end here. Precondition: as for next().
    [[nodiscard]] bool is_nullable(Expression expression) const;

    /// What a rule is defined as. Precondition: `rule` came from rule(), and is sealed.
    [[nodiscard]] Expression definition(Expression rule) const {
        return *rules_[nodes_[rule].index].definition;
    }

    /// Another expression that is the same to texts of up to so many bytes: with smaller counts, where
    /// `expression` is counted.
    Expression with_small_counts(Expression expression, uint32_t bytes);

    /// Of what is left within a distinct(): the same and more, as items may come twice.
    Expression without_memory(Expression distinct);
    /// Then it matters for texts that begin with one of these, or these with them; for those that may come to
    /// the next item's end, or to where few strings may follow; and for all where there are few items.
    [[nodiscard]] std::vector<std::string> used_behind(Expression distinct) const;
    bool may_have_next_item(Expression distinct, std::string_view bytes);
    bool has_few_items(Expression distinct);

    [[nodiscard]] const Node& node(Expression expression) const { return nodes_[expression]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// About how much memory it takes.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool is_full() const { return is_full_; }
    /// Makes it full, after an exception came out of it: what it knows may not be right any more.
    void give_up();

    /// Whether there is room and time for more. Errors: unsupported (the language is full, or tired),
    /// cancelled (its `stop` said so; see allow_steps()).
    [[nodiscard]] Status check() const;

    /// Asked now and then, several times in a millisecond: whether to stop.
    using Stop = std::function<bool()>;

    /// Lets next() and who walks by it take so many steps more, of about 10 ns; then is_tired() is true and
    /// what next() does not know yet is `nothing`, as is each new expression, until it may go on. Unlimited
    /// at first. `is_building`: new expressions count as much as they take until they are sealed; seal() and
    /// automaton() refuse when it is tired.
    /// `stop`: tires it before; borrowed until the next call, and may be null or empty.
    void allow_steps(uint64_t steps, bool is_building = false, const Stop* stop = nullptr);
    [[nodiscard]] uint64_t steps_left() const { return steps_until_look_ + steps_behind_look_; }
    [[nodiscard]] bool is_tired() const { return steps_until_look_ == 0; }
    /// Whether it was `stop` that tired it.
    [[nodiscard]] bool is_stopped() const { return is_stopped_; }
    /// Whether next() may give `nothing` for want of room or time alone.
    [[nodiscard]] bool is_spent() const { return is_full_ || is_tired(); }
    /// For work of others on the language, such as a look at what next() knows already.
    void take_steps(std::size_t count) {
        if (count < steps_until_look_) {
            steps_until_look_ -= count;
        } else {
            look_at_stop(count);
        }
    }

private:
    /// What next() has found for one expression. Most are asked about few bytes only.
    struct Transitions {
        static constexpr std::size_t few_max = 6;
        static constexpr Expression unknown = UINT32_MAX;
        using Table = std::array<Expression, 256>;
        static constexpr std::size_t table_bytes = sizeof(Table);

        std::vector<std::pair<uint8_t, Expression>> few = {};
        std::unique_ptr<Table> all = {};

        [[nodiscard]] Expression find(uint8_t byte) const;
        /// Gives how many bytes of memory it took.
        std::size_t add(uint8_t byte, Expression target);
    };
    /// Whether the empty string is in an expression; unknown while rules in it are not sealed.
    enum class Nullable : uint8_t { no, yes, unknown };

    void look_at_stop(uint64_t count);
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
    /// The bytes that its texts may begin with, and perhaps others: it is looked at only so closely.
    ByteSet first_of(Expression expression);
    ByteSet first_of(Expression expression, int& looks) const;
    /// The same of an `either` of many ways; kept.
    const ByteSet& first_of_ways(Expression many);
    uint32_t number_of(const Automaton& automaton);
    [[nodiscard]] std::vector<ByteSet> byte_sets(Expression regular) const;
    class Users;
    void find_nullable(const Users& users);
    [[nodiscard]] std::vector<bool> productive(const Users& users) const;
    [[nodiscard]] std::vector<Expression> beginnings(Expression expression) const;
    [[nodiscard]] const Rule* left_recursive() const;
    Expression without_unproductive(Expression root, const std::vector<bool>& productive);

    // counted.cpp
    /// An automaton of which is known where characters begin, and how many there may be.
    struct Counts {
        std::pair<uint32_t, uint32_t> made_of; ///< numbers of automata
        uint32_t automaton = 0;                ///< its number
        std::vector<bool> begins = {};         ///< [state]
        std::optional<Lengths> lengths = {};
    };

    Expression add_counted(uint32_t number, uint32_t state, uint32_t least, uint32_t most);
    Expression derive_counted(const Node& node, uint8_t byte);

    // distinct.cpp
    struct List {
        Expression item = 0;
        Expression comma = 0;
        uint32_t least = 0;
        uint32_t most = 0;
    };

    Expression behind_items(uint32_t number, uint32_t items);
    Expression add_distinct(uint32_t number, uint32_t items, uint32_t text, Expression left);
    Expression derive_distinct(const Node& node, uint8_t byte);
    [[nodiscard]] Nullable nullable_of_distinct(const Node& node) const;
    /// All strings of an expression without rules, if there are distinct_max at most; else null.
    const std::vector<std::string>* few_strings(Expression regular);

    // within.cpp
    /// Where expressions lead in an automaton.
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
    std::size_t bytes_ = 0; ///< about what the members below take
    Segments<Node> nodes_;
    std::vector<Nullable> nullable_;
    Segments<Transitions> transitions_;
    std::unordered_map<Expression, ByteSet> first_of_ways_;
    std::array<NumbersByHash, 64> by_hash_; ///< by the first bits of a hash: they grow one by one
    std::vector<Automaton> automata_;
    std::vector<Counts> counts_; ///< by Node::index
    std::vector<List> lists_;    ///< by Node::index
    Memory memory_;              ///< of items
    std::unordered_map<Expression, std::optional<std::vector<std::string>>> few_strings_;
    std::map<uint32_t, PathsOf> paths_; ///< by the number of an automaton
    std::vector<Rule> rules_;           ///< by Node::index
    std::size_t sealed_rules_ = 0;
    Expression sealed_nodes_ = 0;   ///< all before it are known to be nullable or not, and to be productive
    uint32_t depth_ = 0;            ///< of derive() in itself
    Expression too_deep_ = nothing; ///< what derive() has not come to, for its depth; see next()
    uint64_t steps_until_look_ = UINT64_MAX; ///< that may be taken before `stop_` is asked; 0: tired
    uint64_t steps_behind_look_ = 0;         ///< and after that
    const Stop* stop_ = nullptr;             ///< null: none
    bool is_stopped_ = false;
    bool is_building_ = false; ///< see allow_steps()
    bool is_full_ = false;
};

} // namespace etna::grammar
