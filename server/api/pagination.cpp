#include "server/api/pagination.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr uint32_t limit_default = 20;
constexpr uint32_t limit_max = 100;

ApiError invalid_parameter(std::string_view name, std::string_view problem) {
    return {.message = fmt::format("`{}` {}", name, problem),
            .param = std::string(name),
            .code = "invalid_value"};
}

} // namespace

std::optional<std::string> query_value(const HttpRequest& request, std::string_view name) {
    for (const auto& [given, value] : request.query) {
        if (given == name)
            return value;
    }
    return std::nullopt;
}

ApiResult<storage::PageRequest> read_page(const HttpRequest& request, storage::Order default_order) {
    storage::PageRequest page = {
        .after = query_value(request, "after").value_or(""), .limit = limit_default, .order = default_order};
    if (const auto limit = query_value(request, "limit")) {
        const auto read = std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
        if (read.ec != std::errc() || read.ptr != limit->data() + limit->size() || page.limit < 1 ||
            page.limit > limit_max)
            return invalid_parameter("limit", fmt::format("must be from 1 to {}", limit_max));
    }
    if (const auto order = query_value(request, "order")) {
        if (*order != "asc" && *order != "desc")
            return invalid_parameter("order", "must be asc or desc");
        page.order = *order == "asc" ? storage::Order::ascending : storage::Order::descending;
    }
    return page;
}

HttpReply list_reply(Json data, bool has_more) {
    const bool is_empty = data.empty();
    const Json first = is_empty ? Json() : data.front()["id"];
    const Json last = is_empty ? Json() : data.back()["id"];
    return {.body = dump_json({{"object", "list"},
                               {"data", std::move(data)},
                               {"first_id", first},
                               {"last_id", last},
                               {"has_more", has_more}}) +
                    "\n"};
}

HttpReply list_reply(const storage::Page& page) {
    std::string body = R"({"object":"list","data":[)";
    for (const storage::Item& item : page.items) {
        body += &item == page.items.data() ? "" : ",";
        body += item.body;
    }
    const bool is_empty = page.items.empty();
    const Json rest = {{"first_id", is_empty ? Json() : Json(page.items.front().id)},
                       {"last_id", is_empty ? Json() : Json(page.items.back().id)},
                       {"has_more", page.has_more}};
    return {.body = body + "]," + dump_json(rest).substr(1) + "\n"};
}

ApiError unknown_cursor() {
    return invalid_parameter("after", "is not an item of this list");
}

ApiResult<HttpReply> page_reply(const HttpRequest& request, Json items, storage::Order default_order) {
    ETNA_TRY(const auto page, read_page(request, default_order));
    if (page.order == storage::Order::descending)
        std::reverse(items.begin(), items.end());
    auto begin = items.begin();
    if (!page.after.empty()) {
        begin = std::find_if(items.begin(), items.end(),
                             [&](const Json& item) { return item["id"] == page.after; });
        if (begin == items.end())
            return unknown_cursor();
        ++begin;
    }
    Json data = Json::array();
    for (; begin != items.end() && data.size() < page.limit; ++begin)
        data.push_back(*begin);
    return list_reply(std::move(data), begin != items.end());
}

} // namespace etna::server
