// Fuzzes names of models, listings of repositories and journals of downloads. The first byte selects the
// parser, the rest is its text; a listing's files are also chosen from.

#include "core/store/hub.hpp"
#include "core/store/model_name.hpp"
#include "core/store/range_journal.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

using namespace etna;

namespace {

void require_holds(bool holds) {
    if (!holds)
        std::abort();
}

/// No path of a listing leaves its folder, and a choice consists of listed files.
void check_listing(std::string_view text) {
    const auto files = store::parse_listing(text);
    if (!files)
        return require_holds(files.error().kind == ErrorKind::corrupt && !files.error().message.empty());
    for (const store::HubFile& file : *files) {
        require_holds(store::check_relative_path(file.path).has_value());
        require_holds(file.sha256.empty() || file.sha256.size() == 64);
    }
    for (const char* quantisation : {"", "Q8_0", "m.gguf"}) {
        const auto chosen = store::choose_files(store::HubModel{"u", "r", quantisation, ""}, *files);
        require_holds(chosen ? !chosen->parts.empty() : !chosen.error().message.empty());
    }
}

/// An accepted name has the same meaning when it is printed and parsed.
void check_name(std::string_view text) {
    const auto name = store::parse_remote_name(text);
    if (!name)
        return require_holds(name.error().kind == ErrorKind::invalid_argument);
    if (const auto* url = std::get_if<store::UrlModel>(&*name))
        require_holds(store::check_relative_path(url->file_name).has_value());
    if (const auto* model = std::get_if<store::HubModel>(&*name))
        require_holds(store::parse_model_name(store::to_string(*model)).value() == *name);
}

void check_journal(std::string_view text) {
    constexpr uint64_t bytes = 1000;
    for (const store::ByteRange range : store::parse_ranges(text, "v", bytes))
        require_holds(range.begin < range.end && range.end <= bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    switch (data[0] % 3) {
    case 0:
        check_listing(text);
        break;
    case 1:
        check_name(text);
        break;
    default:
        check_journal(text);
    }
    return 0;
}
