// Fuzzes manifests of stored models, manifests of Ollama's, and Modelfiles. The first byte selects the
// parser, the rest is its text.

#include "core/store/manifest.hpp"

#include "core/store/foreign_models.hpp"
#include "core/store/modelfile.hpp"
#include "core/store/sha256.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace etna;

namespace {

void require_holds(bool holds) {
    if (!holds)
        std::abort();
}

/// An accepted manifest has files in their bounds, and is the same when it is written and read.
void check_manifest(std::string_view text) {
    const auto manifest = store::parse_manifest(text, "m");
    if (!manifest)
        return require_holds(!manifest.error().message.empty());
    require_holds(!manifest->files.empty());
    for (const store::StoredFile& file : manifest->files) {
        require_holds(file.sha256.empty() || store::is_sha256_hex(file.sha256));
        require_holds(file.path.empty() || file.path.is_absolute());
    }
    const auto again = store::parse_manifest(store::manifest_text(*manifest), "m");
    if (again) // a text that is not UTF-8 is repaired, and may then be too long
        require_holds(again->files.size() == manifest->files.size());
}

void check_ollama_manifest(std::string_view text) {
    for (const std::string& sum : store::parse_ollama_manifest(text))
        require_holds(store::is_sha256_hex(sum));
}

void check_modelfile(std::string_view text) {
    const auto modelfile = store::parse_modelfile(text, "m");
    if (!modelfile)
        return require_holds(modelfile.error().kind == ErrorKind::invalid_argument);
    require_holds(!modelfile->from.empty());
    for (const store::PresetOption& option : modelfile->options)
        require_holds(!option.name.empty() && !option.values.empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    switch (data[0] % 3) {
    case 0:
        check_manifest(text);
        break;
    case 1:
        check_ollama_manifest(text);
        break;
    default:
        check_modelfile(text);
    }
    return 0;
}
