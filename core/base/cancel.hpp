#pragma once

#include <functional>

namespace etna {

/// Returns whether a person or a client no longer wants the work that is in progress. Polled periodically; an
/// empty one never cancels. Passed by reference to a function that polls it, by value to what keeps it.
using CancelPoll = std::function<bool()>;

} // namespace etna
