#include "core/generate/generate.hpp"

namespace etna::generate {

std::string_view to_string(FinishReason reason) {
    switch (reason) {
    case FinishReason::stop:
        return "stop";
    case FinishReason::length:
        return "length";
    case FinishReason::tool_calls:
        return "tool_calls";
    case FinishReason::cancelled:
        return "cancelled";
    }
    return "unknown";
}

} // namespace etna::generate
