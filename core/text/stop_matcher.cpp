#include "core/text/stop_matcher.hpp"

#include <algorithm>

namespace etna::text {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
    for (std::string& stop : stops) {
        Pattern pattern{.stop = std::move(stop), .fallback = {}};
        pattern.fallback.assign(pattern.stop.size() + 1, 0);
        for (std::size_t n = 2; n <= pattern.stop.size(); ++n) {
            std::size_t length = pattern.fallback[n - 1];
            while (length > 0 && pattern.stop[length] != pattern.stop[n - 1])
                length = pattern.fallback[length];
            pattern.fallback[n] = length + (pattern.stop[length] == pattern.stop[n - 1] ? 1 : 0);
        }
        patterns_.push_back(std::move(pattern));
    }
}

/// Returns the matched length after `byte`, from `length` before it.
std::size_t StopMatcher::advanced(const Pattern& pattern, std::size_t length, char byte) {
    while (length > 0 && pattern.stop[length] != byte)
        length = pattern.fallback[length];
    return !pattern.stop.empty() && pattern.stop[length] == byte ? length + 1 : length;
}

bool StopMatcher::completes(std::string_view text) const {
    return std::any_of(patterns_.begin(), patterns_.end(), [text](const Pattern& pattern) {
        std::size_t length = pattern.length;
        for (const char byte : text) {
            length = advanced(pattern, length, byte);
            if (!pattern.stop.empty() && length == pattern.stop.size())
                return true;
        }
        return false;
    });
}

std::size_t StopMatcher::held_bytes() const {
    std::size_t bytes = 0;
    for (const Pattern& pattern : patterns_)
        bytes = std::max(bytes, pattern.length);
    return bytes;
}

std::string_view StopMatcher::push(std::string_view text) {
    text_.clear();
    if (matched_)
        return text_;
    text_.swap(held_);
    for (const char byte : text) {
        text_ += byte;
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            Pattern& pattern = patterns_[i];
            pattern.length = advanced(pattern, pattern.length, byte);
            const bool complete = !pattern.stop.empty() && pattern.length == pattern.stop.size();
            if (complete && (!matched_ || pattern.stop.size() > patterns_[*matched_].stop.size()))
                matched_ = i;
        }
        if (matched_) {
            text_.resize(text_.size() - patterns_[*matched_].stop.size());
            return text_;
        }
    }
    const std::size_t safe = text_.size() - held_bytes();
    held_.assign(text_, safe);
    text_.resize(safe);
    return text_;
}

std::string_view StopMatcher::flush() {
    text_.clear();
    if (!matched_)
        text_.swap(held_);
    held_.clear();
    for (Pattern& pattern : patterns_)
        pattern.length = 0;
    return text_;
}

} // namespace etna::text
