#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace etna {

/// A hash for keys from untrusted files: it depends on a random number of this process, so that no file can
/// hold many keys with one hash. Not for anything that outlives the process.
struct KeyedHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const;
    std::size_t operator()(uint64_t number) const;
};

} // namespace etna
