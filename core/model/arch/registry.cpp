#include "core/model/arch/registry.hpp"

#include "core/base/near_names.hpp"
#include "core/gguf/cursor.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::model {
namespace {

#define ETNA_ADDRESS(name) &name##_architecture,
constexpr std::array all_architectures{ETNA_ARCHITECTURES(ETNA_ADDRESS)};
#undef ETNA_ADDRESS

} // namespace

std::span<const Architecture* const> architectures() {
    return all_architectures;
}

Result<const Architecture*> find_architecture(const gguf::File& file) {
    const auto name = file.text("general.architecture");
    if (!name) {
        return Error{.kind = ErrorKind::corrupt,
                     .message = fmt::format("{}: general.architecture is missing, so the file is not a model",
                                            file.name()),
                     .hint = "the file may be an adapter, or be damaged; fetch the model again"};
    }
    std::vector<std::string> known;
    for (const Architecture* architecture : architectures()) {
        if (architecture->name == *name)
            return architecture;
        known.emplace_back(architecture->name);
    }
    std::string hint = fmt::format("supported are {}", fmt::join(known, ", "));
    if (const auto near = near_names(*name, known); !near.empty())
        hint = fmt::format("similar: {}; {}", fmt::join(near, ", "), hint);
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("{}: architecture {} is not supported", file.name(), gguf::backquoted(*name)),
        .hint = std::move(hint)};
}

} // namespace etna::model
