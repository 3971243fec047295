#pragma once

#include "cli/chat/line_reader.hpp"

#include <string>

namespace etna::cli {

/// Lines of a pipe or a file, without prompts. What is no UTF-8 becomes U+FFFD.
class PlainReader : public LineReader {
public:
    /// Borrows the descriptor.
    explicit PlainReader(int descriptor) : descriptor_(descriptor) {}

    Outcome read(std::string_view prompt, std::string& line) override;
    void remember(const std::string& /*message*/) override {}

private:
    int descriptor_;
    std::string waiting_; ///< read, and not yet a line
    bool has_ended_ = false;
};

} // namespace etna::cli
