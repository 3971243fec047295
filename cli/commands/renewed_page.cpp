#include "cli/commands/documents.hpp"
#include "core/model/arch/registry.hpp"
#include "server/app/endpoints.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

std::string architecture_table() {
    std::string table =
        "| `general.architecture` | models | largest difference from llama.cpp | definition | compared with "
        "the reference |\n|---|---|---|---|---|\n";
    for (const model::Architecture* row : model::architectures())
        table += fmt::format("| `{}` | {} | {} | {} | {} |\n", row->name, row->models, row->peer,
                             row->definition, row->checks);
    return table;
}

std::string architecture_list() {
    std::string list;
    for (const model::Architecture* row : model::architectures()) {
        list += fmt::format(".TP\n.B {}\n{}.\nLargest difference from llama.cpp: {}.\n"
                            "Reference after {}; compared: {}.\n",
                            roff(row->name), roff(row->models), roff(row->peer), roff(row->definition),
                            roff(row->checks));
    }
    return list;
}

std::string api_table() {
    std::string table = "| API | base URL of a client | tested with |\n|---|---|---|\n";
    for (const server::ApiSummary& api : server::api_summaries())
        table += fmt::format("| {}: {} | `http://127.0.0.1:8080{}` | {} |\n", api.name, api.covers,
                             api.base_path, api.clients);
    return table;
}

/// Paths that differ in a prefix alone are one route: "/v1/models, /models, /v3/models".
std::string route_list() {
    const std::vector<server::Route> routes = server::all_routes({});
    std::string list;
    const auto add_group = [&](std::string_view api, std::string_view heading) {
        list += fmt::format(".SS {}\n", heading);
        std::vector<std::string> summaries; // in order
        std::map<std::string, std::vector<std::string>> paths;
        for (const server::Route& route : routes) {
            const std::string line = fmt::format("{}\n{}", route.method, route.summary);
            if (route.api != api)
                continue;
            if (paths[line].empty())
                summaries.push_back(line);
            paths[line].push_back(route.path);
        }
        for (const std::string& line : summaries) {
            const std::size_t end = line.find('\n');
            list += fmt::format(".TP\n.B {} {}\n{}\n", line.substr(0, end),
                                roff(fmt::format("{}", fmt::join(paths[line], ", "))),
                                roff(line.substr(end + 1)));
        }
    };
    for (const server::ApiSummary& api : server::api_summaries())
        add_group(api.name, api.name);
    add_group("", "operators");
    return list;
}

/// A generated part of a page that is otherwise written by hand.
struct RenewedSection {
    std::string_view page;
    std::string_view name; ///< in the marks around it
    std::string (*text)();
};

constexpr std::array sections = {
    RenewedSection{"MODELS.md", "architectures", architecture_table},
    RenewedSection{"README.md", "APIs", api_table},
    RenewedSection{"etna-models.7", "architectures", architecture_list},
    RenewedSection{"etna-api.7", "routes", route_list},
};

Result<std::string> renewed_section(const RenewedSection& section, std::string_view page) {
    const std::string begin_mark = fmt::format("{}: written by scripts/generate-docs", section.name);
    const std::string end_mark = fmt::format("end of {}", section.name);
    const std::size_t begin = page.find(begin_mark);
    const std::size_t first_line = page.find('\n', begin);
    const std::size_t end = page.find(end_mark, first_line);
    if (begin == std::string_view::npos || end == std::string_view::npos) {
        return invalid_argument(
            fmt::format("{} has no section of {}", section.page, section.name),
            fmt::format("mark it with lines of comment that hold `{}` and `{}`", begin_mark, end_mark));
    }
    const std::size_t last_line = page.rfind('\n', end);
    return fmt::format("{}{}{}", page.substr(0, first_line + 1), section.text(), page.substr(last_line + 1));
}

} // namespace

bool is_renewed_page(std::string_view name) {
    return std::ranges::find(sections, name, &RenewedSection::page) != sections.end();
}

Result<std::string> renewed_page(std::string_view name, std::string_view page) {
    std::string renewed(page);
    for (const RenewedSection& section : sections) {
        if (section.page == name) {
            ETNA_TRY(renewed, renewed_section(section, renewed));
        }
    }
    return renewed;
}

} // namespace etna::cli
