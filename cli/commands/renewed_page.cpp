#include "cli/commands/documents.hpp"
#include "core/model/arch/registry.hpp"

#include <fmt/format.h>

namespace etna::cli {
namespace {

std::string architecture_table() {
    std::string table =
        "| `general.architecture` | models | compared with a reference in double precision on |\n"
        "|---|---|---|\n";
    for (const model::Architecture* row : model::architectures())
        table += fmt::format("| `{}` | {} | {} |\n", row->name, row->models, row->checks);
    return table;
}

std::string architecture_list() {
    std::string list;
    for (const model::Architecture* row : model::architectures()) {
        list += fmt::format(".TP\n.B {}\n{}.\nChecked with {}.\n", roff(row->name), roff(row->models),
                            roff(row->checks));
    }
    return list;
}

} // namespace

bool is_renewed_page(std::string_view name) {
    return name == "README.md" || name == "etna-models.7";
}

Result<std::string> renewed_page(std::string_view name, std::string_view page) {
    constexpr std::string_view begin_mark = "architectures: written by scripts/generate-docs";
    constexpr std::string_view end_mark = "end of architectures";
    const std::size_t begin = page.find(begin_mark);
    const std::size_t first_line = page.find('\n', begin);
    const std::size_t end = page.find(end_mark, first_line);
    if (begin == std::string_view::npos || end == std::string_view::npos) {
        return invalid_argument(
            fmt::format("{} has no section of architectures", name),
            fmt::format("mark it with lines of comment that hold `{}` and `{}`", begin_mark, end_mark));
    }
    const std::size_t last_line = page.rfind('\n', end);
    return fmt::format("{}{}{}", page.substr(0, first_line + 1),
                       name == "README.md" ? architecture_table() : architecture_list(),
                       page.substr(last_line + 1));
}

} // namespace etna::cli
