#pragma once

#include "core/base/utf8_gate.hpp"
#include "core/output/markers.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace etna::output {

/// The received text, as valid UTF-8, with the read position. Consumed text remains until erase_before(), so
/// that a reader can return to it. Offsets count from the start of the buffer.
class InputBuffer {
public:
    /// Appends a chunk; an incomplete character at its end waits for the next one.
    void push(std::string_view text) { gate_.push(text, text_); }

    /// Ends the text. Nothing may be pushed afterwards.
    void finish() {
        gate_.finish(text_);
        more_ = More::none;
    }

    [[nodiscard]] More more() const { return more_; }
    [[nodiscard]] std::size_t offset() const { return offset_; } ///< of the read position
    [[nodiscard]] std::string_view rest() const { return from(offset_); }
    [[nodiscard]] std::string_view from(std::size_t begin) const {
        return std::string_view(text_).substr(begin);
    }
    [[nodiscard]] std::string_view between(std::size_t begin, std::size_t end) const {
        return from(begin).substr(0, end - begin);
    }

    void seek(std::size_t offset) { offset_ = offset; }
    void skip(std::size_t bytes) { offset_ += bytes; }
    void skip_all() { offset_ = text_.size(); }

    /// Returns the next `bytes` of text and skips them.
    std::string_view take(std::size_t bytes) {
        const auto taken = rest().substr(0, bytes);
        offset_ += taken.size();
        return taken;
    }

    /// Skips white space. Returns false if the text is consumed and more may come.
    bool skip_space() {
        offset_ += std::min(rest().find_first_not_of(white_space), rest().size());
        return !rest().empty() || more_ == More::none;
    }

    /// Whether the rest starts with `marker`; `partial` only if more may come.
    [[nodiscard]] Match match(std::string_view marker) const {
        const Match found = match_prefix(rest(), trim(marker));
        return found == Match::partial && more_ == More::none ? Match::no : found;
    }

    /// Erases consumed text before `offset`. Returns the number of erased bytes, by which all offsets shift.
    std::size_t erase_before(std::size_t offset) {
        const std::size_t count = std::min(offset_, offset);
        text_.erase(0, count);
        offset_ -= count;
        return count;
    }

private:
    Utf8Gate gate_;
    std::string text_;
    std::size_t offset_ = 0;
    More more_ = More::may_come;
};

/// Subtracts `count` from an offset, but not below 0.
inline void shift(std::size_t& offset, std::size_t count) {
    offset -= std::min(offset, count);
}

} // namespace etna::output
