#include "core/kernels/rows.hpp"

namespace etna::kernels {

std::string_view to_string(RowPath path) {
    return path == RowPath::prefill ? "prefill" : "decode";
}

} // namespace etna::kernels
