#pragma once

#include "cli/chat/line_reader.hpp"
#include "cli/environment.hpp"

#include <string>
#include <utility>

namespace etna::cli {

/// Lines of a pipe or a file, without prompts and without the byte order mark that a file may begin with.
/// What is no UTF-8 becomes U+FFFD.
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
    std::string waiting_;    ///< read, and not yet a line
    bool has_begun_ = false; ///< a line was read
    bool has_ended_ = false;
};

} // namespace etna::cli
