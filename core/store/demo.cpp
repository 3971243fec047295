#include "core/store/demo.hpp"

// Defined in demo.S.
extern "C" {
extern const std::byte etna_demo_begin[]; // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_end[];   // NOLINT(readability-identifier-naming)
}

namespace etna::store {

ByteView demo_model() {
    return {etna_demo_begin, etna_demo_end};
}

} // namespace etna::store
