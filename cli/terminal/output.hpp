#pragma once

#include "core/base/error.hpp"

#include <string_view>

namespace etna::cli {

enum class OutputState {
    open,
    closed, ///< the reader of the pipe has closed it
    failed, ///< a write failed; see Output::error()
};

/// Unbuffered standard output. Once closed or failed, it drops everything.
class Output {
public:
    /// Borrows the descriptor. SIGPIPE must be ignored.
    explicit Output(int descriptor) : descriptor_(descriptor) {}

    /// Blocks until everything is written or the output is no longer open.
    OutputState write(std::string_view text);

    [[nodiscard]] OutputState state() const { return state_; }

    /// Returns the failed operation and its cause. Precondition: the state is failed.
    [[nodiscard]] Error error() const;

private:
    int descriptor_;
    OutputState state_ = OutputState::open;
    int error_number_ = 0;
};

} // namespace etna::cli
