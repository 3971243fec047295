#pragma once

#include <string>

namespace etna {

/// Returns the linker's build id (ELF note NT_GNU_BUILD_ID) in hexadecimal digits, which identifies this
/// build. Empty if the linker wrote none. Thread-safe.
std::string build_id();

} // namespace etna
