#include "core/grammar/lengths.hpp"

#include "core/grammar/expression.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

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
        uint32_t most = 0;
        for (const uint32_t target : targets.of(state))
            most = std::max(most, self(self, target));
        return bytes_left[state] = most + 1;
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

Result<Lengths> Lengths::create(const Automaton& automaton, const std::vector<bool>& begins, uint32_t most,
                                std::size_t& looks) {
    const Targets targets(automaton);
    const std::vector<uint32_t> inner = inner_states(targets, begins);
    std::vector<std::vector<bool>> with_count; // by count: states that accept such a string
    std::map<std::vector<bool>, uint32_t> first_of;
    Lengths all;
    looks = 0;
    for (uint32_t count = 0; all.period_ == 0 && count <= most; ++count) {
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
        const auto [place, is_new] = first_of.try_emplace(states, count);
        all.before_ = is_new ? count + 1 : place->second;
        all.period_ = is_new ? 0 : count - place->second;
        if (is_new)
            with_count.push_back(std::move(states));
        looks += targets.size() + begins.size();
        if (looks > looks_max) {
            return Error{ErrorKind::unsupported, "the lengths of its texts are too many to be counted",
                         "shorten its bounds, or leave out `minLength` and `maxLength`"};
        }
    }
    all.keep(with_count);
    return all;
}

void Lengths::keep(const std::vector<std::vector<bool>>& with_count) {
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

std::optional<uint32_t> Lengths::at_least(uint32_t state, uint32_t least) const {
    uint32_t count = least;
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

std::optional<uint32_t> Lengths::at_most(uint32_t state, uint32_t most) const {
    if (most == unbounded) {
        for (uint32_t count = before_; count < known(); ++count) {
            if (has(state, count))
                return unbounded;
        }
        most = before_;
    }
    for (uint32_t i = 0; i < period_ && most >= known(); ++i, --most) {
        if (has(state, before_ + (most - before_) % period_))
            return most;
    }
    for (uint32_t count = std::min(most, known() - 1) + 1; count-- > 0;) {
        if (has(state, count))
            return count;
    }
    return std::nullopt;
}

/// A text of n characters leads to some state, from which the counts are least - n to most - n.
Lengths::Range Lengths::shortened(Range range, uint32_t characters) const {
    if (period_ == 0)
        return range;
    if (period_ == 1 && range.least > before_ + characters) // beyond all counts that differ
        return {.least = before_ + characters, .most = unbounded};
    if (range.most != unbounded) { // `next` bounds the first count from `least` or less, from any state
        uint32_t next = range.least;
        for (uint32_t state = 0; state < states(); ++state)
            next = std::max(next, at_least(state, range.least).value_or(0));
        if (range.most - next < characters || range.most < next)
            return range;
    }
    // Without an upper bound only the greatest counts matter, and the finite ones are below before_.
    return {.least = std::min(range.least, before_ + characters), .most = unbounded};
}

} // namespace etna::grammar
