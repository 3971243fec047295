#include "core/engine/waiting_line.hpp"

#include <algorithm>

namespace etna::engine {

void WaitingLine::insert(Sequence& sequence) {
    insert_by_age(lines_[sequence.client], sequence);
    ++size_;
}

void WaitingLine::erase(const Sequence& sequence) {
    const auto found = lines_.find(sequence.client);
    if (found == lines_.end())
        return;
    size_ -= std::erase(found->second, &sequence);
    if (found->second.empty())
        lines_.erase(found);
}

bool WaitingLine::contains(const Sequence& sequence) const {
    const auto found = lines_.find(sequence.client);
    return found != lines_.end() &&
           std::find(found->second.begin(), found->second.end(), &sequence) != found->second.end();
}

} // namespace etna::engine
