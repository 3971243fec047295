#pragma once

#include "core/base/token.hpp"
#include "core/engine/beams.hpp"
#include "core/engine/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// What one hypothesis may go on with.
struct Continuations {
    struct One {
        TokenId token = 0;
        float logit = 0;   ///< as the model gave it
        float changed = 0; ///< after bias, penalties and constraints
    };
    std::vector<One> tokens = {}; ///< falling `changed`, smaller id first among equals; none impossible
    float log_sum_exp = 0;        ///< of the model's logits
    std::vector<sampling::Candidate> top = {}; ///< for TokenEvent::top
};

/// Beam search, in groups that avoid each other's tokens: which hypotheses live, and which are complete.
///
/// A hypothesis adds up (changed logit - log-sum-exp) of its tokens. In every step each group ranks what its
/// hypotheses may go on with, less diversity_penalty for each time that an earlier group took the same token
/// in this step; the best `width / groups` that do not end live on, and an end among as many first ranks
/// makes a hypothesis complete, with sum / length^length_penalty, the end token counted in the length. The
/// rules, ties and ends are those of Hugging Face's BeamSearchScorer; groups: Vijayakumar et al., "Diverse
/// Beam Search", arXiv 1610.02424. Knows no pages and no device.
class BeamSearch {
public:
    struct Bounds {
        std::vector<TokenId> end_tokens = {}; ///< ascending
        uint32_t max_tokens = 1;              ///< no hypothesis has more
    };

    /// Precondition: check(beams).
    BeamSearch(const Beams& beams, Bounds bounds);

    /// How many continuations of each hypothesis advance() may need at most: so many of the best of all, and
    /// so many of those that do not end.
    [[nodiscard]] uint32_t continuations() const;

    /// A hypothesis of the next step: the one it goes on from, by its number in the step before, and how.
    struct Branch {
        uint32_t parent = 0;
        TokenId token = 0;
    };

    /// Goes on by one token. `rows` are the continuations of the hypotheses, by their numbers; those of one
    /// that does not live are not looked at. At first there is one, of the prompt. Returns those that live
    /// then: each has its place here as its number. Valid until the next call. Precondition: !is_at_length().
    const std::vector<Branch>& advance(std::span<const Continuations> rows);

    /// The hypothesis of this number is whole as it is, and does not go on.
    void complete(uint32_t number);

    /// Whether the hypothesis of this number is to go on.
    [[nodiscard]] bool lives(uint32_t number) const;

    /// Whether hypotheses are as long as they may be: those that are not whole by now are to be cut off.
    [[nodiscard]] bool is_at_length() const { return length_ == bounds_.max_tokens; }

    /// Nobody goes on: all that live are cut off here.
    void conclude();

    /// Whether no step is to come.
    [[nodiscard]] bool is_done() const;

    struct Answer {
        std::vector<TokenEvent> tokens; ///< without the end token
        std::optional<TokenEvent> end;  ///< the end token that was generated
        bool is_whole = false;          ///< it ended; else it was cut off
        double score = 0;               ///< after the length penalty
    };

    /// The `Beams::answers` best that are complete, the best first; fewer where there are no more.
    [[nodiscard]] std::vector<Answer> best() const;

private:
    static constexpr uint32_t no_node = ~0U;

    /// A token and the one before it; what hypotheses have in common is kept once.
    struct Node {
        TokenEvent event;
        uint32_t parent = no_node;
    };
    struct Hypothesis {
        uint32_t last = no_node; ///< node
        uint32_t number = 0;     ///< among all that live
        double sum = 0;
    };
    struct Complete {
        Hypothesis hypothesis;
        double score = 0;
        std::optional<TokenEvent> end;
        bool is_whole = false;
    };
    struct Group {
        std::vector<Hypothesis> live;
        std::vector<Complete> complete; ///< falling score, at most the group's size
        bool is_done = false;
    };
    /// A hypothesis of the group and one of its continuations.
    struct Ranked {
        double sum = 0;
        uint32_t from = 0; ///< in Group::live
        const Continuations::One* continuation = nullptr;
    };

    [[nodiscard]] bool is_end(TokenId token) const;
    [[nodiscard]] std::vector<Ranked> rank(const Group& group, std::span<const Continuations> rows) const;
    void advance(Group& group, std::span<const Continuations> rows);
    Hypothesis go_on(const Hypothesis& from, const Ranked& ranked, const Continuations& row);
    void add_complete(Group& group, Complete complete);
    [[nodiscard]] bool has_settled(const Group& group, double best) const;
    [[nodiscard]] double normalised(double sum, uint32_t length) const;
    [[nodiscard]] uint32_t size() const { return beams_.width / beams_.groups; }

    Beams beams_;
    Bounds bounds_;
    uint32_t length_ = 0; ///< tokens of every hypothesis that lives
    std::vector<Node> nodes_;
    std::vector<Group> groups_;
    std::vector<Branch> branches_;
    std::vector<TokenId> taken_; ///< in this step, by the groups so far
};

} // namespace etna::engine
