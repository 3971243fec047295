#pragma once

#include "cli/chat/line_reader.hpp"
#include "cli/environment.hpp"

#include <string>
#include <utility>

namespace etna::cli {

/// Reads lines from a pipe or a file, without prompts and without a leading byte order mark. Invalid UTF-8
/// becomes U+FFFD. Buffers at most input_bytes_max of a line that is too long.
class PlainReader : public LineReader {
public:
    /// Borrows the descriptor. A signal reported by `end_signal` ends the input.
    PlainReader(int descriptor, EndSignal end_signal)
        : descriptor_(descriptor), end_signal_(std::move(end_signal)) {}

    Outcome read(std::string_view prompt, std::string& line) override;
    void remember(const std::string& /*message*/) override {}

private:
    int descriptor_;
    EndSignal end_signal_;
    std::string waiting_;      ///< bytes read that do not form a line yet
    bool has_begun_ = false;   ///< a line was read
    bool is_too_long_ = false; ///< the start of this line was dropped
    bool has_ended_ = false;
};

} // namespace etna::cli
