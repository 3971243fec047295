#include "core/grammar/counted.hpp"

#include "core/grammar/language.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

/// Texts of an automaton with a bounded number of characters. The count is stored next to the automaton's
/// state: encoded as states, it would need one for each pair of state and count.
namespace etna::grammar {
namespace {

/// The distinct targets of each state.
class Targets {
public:
    explicit Targets(const Automaton& automaton) : begin_(1) {
        for (uint32_t state = 0; state < automaton.state_count(); ++state) {
            const auto first = automaton.targets.begin() +
                               static_cast<std::ptrdiff_t>(std::size_t{state} * automaton.class_count);
            std::vector<uint32_t> targets(first, first + automaton.class_count);
            std::sort(targets.begin(), targets.end());
            targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
            if (!targets.empty() && targets.back() == Automaton::dead)
                targets.pop_back();
            targets_.insert(targets_.end(), targets.begin(), targets.end());
            begin_.push_back(targets_.size());
        }
    }

    [[nodiscard]] std::span<const uint32_t> of(uint32_t state) const {
        return std::span(targets_).subspan(begin_[state], begin_[state + 1] - begin_[state]);
    }
    [[nodiscard]] std::size_t size() const { return targets_.size(); }

private:
    std::vector<std::size_t> begin_;
    std::vector<uint32_t> targets_;
};

/// States inside a character, each after its targets.
std::vector<uint32_t> inner_states(const Targets& targets, const std::vector<bool>& begins) {
    std::vector<uint32_t> bytes_left(begins.size()); // maximum bytes left of a character
    const auto find = [&](const auto& self, uint32_t state) -> uint32_t {
        if (begins[state] || bytes_left[state] > 0)
            return bytes_left[state];
        uint32_t max = 0;
        for (const uint32_t target : targets.of(state))
            max = std::max(max, self(self, target));
        return bytes_left[state] = max + 1;
    };
    std::vector<uint32_t> inner;
    for (uint32_t state = 0; state < begins.size(); ++state) {
        if (!begins[state]) {
            find(find, state);
            inner.push_back(state);
        }
    }
    std::sort(inner.begin(), inner.end(),
              [&](uint32_t a, uint32_t b) { return bytes_left[a] < bytes_left[b]; });
    return inner;
}

/// Costs of visiting the targets of a state, and of finding a count.
constexpr std::size_t visits_of_step = 5;
constexpr uint64_t steps_of_count = 2;

/// The states at which a character may begin: `characters` accepts any number of characters.
std::vector<bool> characters_begin(const std::vector<std::pair<uint32_t, uint32_t>>& states,
                                   const Automaton& characters) {
    std::vector<bool> begins;
    begins.reserve(states.size());
    for (const auto& [state, of_character] : states)
        begins.push_back(characters.accepts[of_character]);
    return begins;
}

} // namespace

Result<Lengths> Lengths::create(const Automaton& automaton, const std::vector<bool>& begins, uint32_t max,
                                std::size_t& visits) {
    const Targets targets(automaton);
    const std::vector<uint32_t> inner = inner_states(targets, begins);
    std::vector<std::vector<bool>> with_count; // by count: states that accept such a string
    std::map<std::vector<bool>, uint32_t> first_of;
    Lengths all;
    visits = 0;
    for (uint32_t count = 0; all.period_ == 0 && count <= max; ++count) {
        std::vector<bool> states = automaton.accepts;
        for (uint32_t state = 0; state < begins.size() && count > 0; ++state) {
            const auto to = targets.of(state);
            states[state] = begins[state] && std::any_of(to.begin(), to.end(), [&](uint32_t target) {
                                return with_count.back()[target];
                            });
        }
        for (const uint32_t state : inner) {
            const auto to = targets.of(state);
            states[state] =
                std::any_of(to.begin(), to.end(), [&](uint32_t target) { return states[target]; });
        }
        const auto [entry, is_new] = first_of.try_emplace(states, count);
        all.before_ = is_new ? count + 1 : entry->second;
        all.period_ = is_new ? 0 : count - entry->second;
        if (is_new)
            with_count.push_back(std::move(states));
        visits += targets.size() + begins.size();
        if (visits > visits_max) {
            return Error{ErrorKind::unsupported, "its texts have too many different lengths",
                         "shorten its bounds, or leave out `minLength` and `maxLength`"};
        }
    }
    all.store(with_count);
    return all;
}

void Lengths::store(const std::vector<std::vector<bool>>& with_count) {
    words_ = (with_count.size() + 63) / 64;
    const std::size_t states = with_count.empty() ? 0 : with_count[0].size();
    bits_.resize(states * words_);
    for (std::size_t count = 0; count < with_count.size(); ++count) {
        for (std::size_t state = 0; state < states; ++state) {
            if (with_count[count][state])
                bits_[state * words_ + count / 64] |= uint64_t{1} << (count % 64);
        }
    }
}

uint32_t Lengths::known_to() const {
    return period_ > 0 ? unbounded : known() - 1;
}

std::optional<uint32_t> Lengths::at_least(uint32_t state, uint32_t min) const {
    uint32_t count = min;
    for (; count < known(); ++count) {
        if (has(state, count))
            return count;
    }
    for (uint32_t i = 0; i < period_; ++i, ++count) {
        if (has(state, before_ + (count - before_) % period_))
            return count;
    }
    return std::nullopt;
}

std::optional<uint32_t> Lengths::at_most(uint32_t state, uint32_t max) const {
    if (max == unbounded) {
        for (uint32_t count = before_; count < known(); ++count) {
            if (has(state, count))
                return unbounded;
        }
        max = before_;
    }
    for (uint32_t i = 0; i < period_ && max >= known(); ++i, --max) {
        if (has(state, before_ + (max - before_) % period_))
            return max;
    }
    for (uint32_t count = std::min(max, known() - 1) + 1; count-- > 0;) {
        if (has(state, count))
            return count;
    }
    return std::nullopt;
}

/// A text of n characters leads to some state, from which the counts are min - n to max - n.
Lengths::Range Lengths::shortened(Range range, uint32_t characters) const {
    if (period_ == 0)
        return range;
    if (period_ == 1 && range.min > before_ + characters) // beyond all counts that differ
        return {.min = before_ + characters, .max = unbounded};
    if (range.max != unbounded) { // `next` bounds the first count from `min` or less, from any state
        uint32_t next = range.min;
        for (uint32_t state = 0; state < states(); ++state)
            next = std::max(next, at_least(state, range.min).value_or(0));
        if (range.max - next < characters || range.max < next)
            return range;
    }
    // Without an upper bound only the greatest counts matter, and the finite ones are below before_.
    return {.min = std::min(range.min, before_ + characters), .max = unbounded};
}

Result<Expression> Language::counted(const Automaton& automaton, const Automaton& characters, uint32_t min,
                                     uint32_t max) {
    ETNA_CHECK(check());
    if (automaton.state_count() == 0 || min > max)
        return nothing;
    const std::pair key{number_of(automaton), number_of(characters)};
    const auto known = std::find_if(counts_.begin(), counts_.end(),
                                    [&](const Counts& counts) { return counts.factors == key; });
    const auto number = static_cast<uint32_t>(known - counts_.begin());
    if (known == counts_.end()) {
        std::vector<std::pair<uint32_t, uint32_t>> states;
        ETNA_TRY(const Automaton both, product(automaton, characters, states));
        charge_steps(both.targets.size());
        counts_.push_back(
            {.factors = key, .automaton = number_of(both), .begins = characters_begin(states, characters)});
    }
    Counts& counts = counts_[number];
    if (!counts.lengths || counts.lengths->known_to() < max) {
        std::size_t visits = 0;
        ETNA_TRY(counts.lengths, Lengths::create(automata_[counts.automaton], counts.begins, max, visits));
        charge_steps(visits / visits_of_step);
        bytes_ += counts.lengths->bytes();
    }
    return add_counted(number, 0, min, max);
}

/// Tightens the bounds to the counts that occur from the state, so that equivalent bounds are equal; if they
/// exclude nothing, the result is a plain automaton.
Expression Language::add_counted(uint32_t number, uint32_t state, uint32_t min, uint32_t max) {
    charge_steps(steps_of_count);
    const Counts& counts = counts_[number];
    const auto first = counts.lengths->at_least(state, min);
    if (!first || *first > max)
        return nothing;
    const auto last = counts.lengths->at_most(state, max);
    const bool is_first_of_all = min == 0 || counts.lengths->at_least(state, 0) == first;
    const bool is_last_of_all = max == unbounded || (counts.lengths->known_to() == unbounded &&
                                                     !counts.lengths->at_least(state, max + 1));
    if (is_first_of_all && is_last_of_all)
        return add({.kind = Kind::automaton, .index = counts.automaton, .state = state});
    return add({.kind = Kind::counted,
                .min = is_first_of_all ? 0 : *first,
                .max = is_last_of_all ? unbounded : *last,
                .index = number,
                .state = state});
}

Expression Language::derive_counted(const Node& node, uint8_t byte) {
    const Counts& counts = counts_[node.index];
    const uint32_t target = automata_[counts.automaton].next(node.state, byte);
    const bool is_begun = counts.begins[node.state];
    if (target == Automaton::dead || (is_begun && node.max == 0))
        return nothing;
    const uint32_t one = is_begun ? 1 : 0;
    return add_counted(node.index, target, node.min - std::min(node.min, one),
                       node.max == unbounded ? unbounded : node.max - one);
}

Expression Language::with_small_counts(Expression expression, uint32_t bytes) {
    const Node node = nodes_[expression];
    if (node.kind != Kind::counted)
        return expression;
    const Lengths& lengths = *counts_[node.index].lengths;
    charge_steps(node.min > 0 ? lengths.states() : 1);
    const Lengths::Range range = lengths.shortened({.min = node.min, .max = node.max}, bytes);
    return add_counted(node.index, node.state, range.min, range.max);
}

} // namespace etna::grammar
