#include "core/base/build_id.hpp"

#include <cstddef>
#include <string_view>

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

namespace etna {
namespace {

constexpr std::size_t padded(std::size_t size) {
    return (size + 3) / 4 * 4; // notes are aligned to four bytes
}

/// The build id among the notes of one segment, if it is there.
void find_in_notes(const char* note, const char* end, std::string& id) {
    using namespace std::string_view_literals;
    constexpr std::string_view owner = "GNU\0"sv;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note);
        const char* name = note + sizeof(ElfW(Nhdr));
        const char* content = name + padded(header->n_namesz);
        if (header->n_type == NT_GNU_BUILD_ID && std::string_view(name, header->n_namesz) == owner) {
            const auto* bytes = reinterpret_cast<const unsigned char*>(content);
            id = fmt::format("{:02x}", fmt::join(bytes, bytes + header->n_descsz, ""));
            return;
        }
        note = content + padded(header->n_descsz);
    }
}

/// Called for the executable first, which ends the search.
int visit(dl_phdr_info* object, std::size_t /*size*/, void* result) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE)
            continue;
        const auto address = object->dlpi_addr + segment.p_vaddr;
        const auto* begin = reinterpret_cast<const char*>(address); // NOLINT(performance-no-int-to-ptr)
        auto& id = *static_cast<std::string*>(result);
        if (id.empty())
            find_in_notes(begin, begin + segment.p_memsz, id);
    }
    return 1;
}

} // namespace

std::string build_id() {
    std::string id;
    ::dl_iterate_phdr(visit, &id);
    return id;
}

} // namespace etna
