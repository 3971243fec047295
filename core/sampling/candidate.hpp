#pragma once

#include "core/base/token.hpp"

namespace etna::sampling {

/// A token that may be chosen.
struct Candidate {
    TokenId token = 0;
    float logit = 0;
};

/// The order of every list of candidates: descending logit, smaller id first among equals.
inline bool comes_before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

} // namespace etna::sampling
