#include "core/grammar/lengths.hpp"

#include "core/grammar/expression.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

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

} // namespace etna::grammar
