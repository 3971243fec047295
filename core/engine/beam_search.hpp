#pragma once

#include "core/base/token.hpp"
#include "core/engine/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// The possible continuations of one hypothesis.
struct Continuations {
    struct One {
        TokenId token = 0;
        float logit = 0;           ///< from the model, unmodified
        float processed_logit = 0; ///< after bias, penalties and constraints
    };
    std::vector<One> tokens = {}; ///< descending `processed_logit`, smaller id first among equals; finite
    float log_sum_exp = 0;        ///< of the model's logits
    std::vector<sampling::Candidate> top = {}; ///< for TokenEvent::top
};

/// Beam search in groups that avoid each other's tokens: tracks which hypotheses are live and which are
/// complete.
///
/// A hypothesis sums (processed logit - log-sum-exp) over its tokens. In every step each group ranks the
/// continuations of its hypotheses, minus diversity_penalty for each time that an earlier group took the same
/// token in this step; the best `width / groups` that do not end stay live, and an end token among as many
/// first ranks completes a hypothesis, with score sum / length^length_penalty, the end token counted in the
/// length. Rules, ties and termination are those of Hugging Face's BeamSearchScorer; groups: Vijayakumar et
/// al., "Diverse Beam Search", arXiv 1610.02424. Independent of pages and devices.
class BeamSearch {
public:
    struct Bounds {
        std::vector<TokenId> end_tokens = {}; ///< ascending
        uint32_t max_tokens = 1;              ///< maximum length of a hypothesis
    };

    /// Precondition: check(beams).
    BeamSearch(const BeamOptions& beams, Bounds bounds);

    /// Returns the maximum number of continuations per hypothesis that advance() uses: this many of the best,
    /// and this many of the best that are not end tokens.
    [[nodiscard]] uint32_t continuations() const;

    /// A hypothesis of the next step: its parent, by number in the previous step, and the token that it
    /// appends.
    struct Branch {
        uint32_t parent = 0;
        TokenId token = 0;
    };

    /// Advances the search by one token. `rows` are the continuations of the hypotheses, by number; rows of
    /// hypotheses that are not live are ignored. The first call has one row, that of the prompt. Returns the
    /// hypotheses that are live afterwards; the index of each is its number. Valid until the next call.
    /// Precondition: !is_at_length().
    const std::vector<Branch>& advance(std::span<const Continuations> rows);

    /// Marks the hypothesis with this number as complete without an end token; it is not extended further.
    void complete(uint32_t number);

    /// Whether the hypothesis with this number is live.
    [[nodiscard]] bool is_live(uint32_t number) const;

    /// Whether the hypotheses have max_tokens tokens: those that are not complete are cut off.
    [[nodiscard]] bool is_at_length() const { return length_ == bounds_.max_tokens; }

    /// Ends the search: cuts off all live hypotheses.
    void conclude();

    /// Whether the search has ended.
    [[nodiscard]] bool is_done() const;

    struct Answer {
        std::vector<TokenEvent> tokens; ///< without the end token
        std::optional<TokenEvent> end;  ///< the end token, if one was generated
        bool is_complete = false;       ///< false: cut off
        double score = 0;               ///< after the length penalty
    };

    /// Returns the best `BeamOptions::answers` complete hypotheses, best first; fewer if fewer are complete.
    [[nodiscard]] std::vector<Answer> best() const;

private:
    static constexpr uint32_t no_node = ~0U;

    /// A token and its predecessor; common prefixes of hypotheses are stored once.
    struct Node {
        TokenEvent event;
        uint32_t parent = no_node;
    };
    struct Hypothesis {
        uint32_t last = no_node; ///< node
        uint32_t number = 0;     ///< among all live hypotheses
        double sum = 0;
    };
    struct Complete {
        Hypothesis hypothesis;
        double score = 0;
        std::optional<TokenEvent> end;
        bool is_complete = false;
    };
    struct Group {
        std::vector<Hypothesis> live;
        std::vector<Complete> complete; ///< descending score, at most the group's size
        bool is_done = false;
    };
    /// A hypothesis of the group and one of its continuations.
    struct Ranked {
        double sum = 0;
        uint32_t from = 0; ///< index into Group::live
        const Continuations::One* continuation = nullptr;
    };

    [[nodiscard]] bool is_end(TokenId token) const;
    [[nodiscard]] std::vector<Ranked> ranked_continuations(const Group& group,
                                                           std::span<const Continuations> rows) const;
    void advance(Group& group, std::span<const Continuations> rows);
    Hypothesis extend(const Hypothesis& from, const Ranked& ranked, const Continuations& row);
    void add_complete(Group& group, Complete complete);
    [[nodiscard]] bool has_settled(const Group& group, double best) const;
    [[nodiscard]] double normalised(double sum, uint32_t length) const;
    [[nodiscard]] uint32_t size() const { return beams_.width / beams_.groups; }

    BeamOptions beams_;
    Bounds bounds_;
    uint32_t length_ = 0; ///< length of every live hypothesis
    std::vector<Node> nodes_;
    std::vector<Group> groups_;
    std::vector<Branch> branches_;
    std::vector<TokenId> taken_; ///< by earlier groups in this step
};

} // namespace etna::engine
