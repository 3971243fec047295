#pragma once

#include "cli/chat/line_reader.hpp"
#include "cli/environment.hpp"

#include <string>
#include <utility>

namespace etna::cli {

/// Lines of a pipe or a file, without prompts and without the byte order mark that a file may begin with.
/// What is no UTF-8 becomes U+FFFD. Of a line that is too long no more than input_bytes_max is kept.
class PlainReader : public LineReader {
public:
    /// Borrows the descriptor. A signal that `end_signal` tells of ends the lines.
    PlainReader(int descriptor, EndSignal end_signal)
        : descriptor_(descriptor), end_signal_(std::move(end_signal)) {}

    Outcome read(std::string_view prompt, std::string& line) override;
    void remember(const std::string& /*message*/) override {}

private:
    int descriptor_;
    EndSignal end_signal_;
    std::string waiting_;      ///< read, and not yet a line
    bool has_begun_ = false;   ///< a line was read
    bool is_too_long_ = false; ///< the beginning of this line was dropped
    bool has_ended_ = false;
};

} // namespace etna::cli
