#include "core/base/memory.hpp"

#include "core/base/bytes.hpp"

#include <fstream>
#include <string>

namespace etna {

std::optional<uint64_t> available_host_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::string unit;
    uint64_t kibibytes = 0;
    while (file >> key >> kibibytes) {
        std::getline(file, unit);
        if (key == "MemAvailable:")
            return kibibytes * kibibyte;
    }
    return std::nullopt;
}

} // namespace etna
