#pragma once

#include <string>

namespace etna {

/// What tells this executable from any other build: the linker's build id (ELF note NT_GNU_BUILD_ID) in
/// hexadecimal digits. Empty where the linker wrote none. Thread-safe.
std::string build_id();

} // namespace etna
