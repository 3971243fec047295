#include "server/base/gguf_json.hpp"

#include <type_traits>
#include <utility>

namespace etna::server {
namespace {

Json array_json(const gguf::Array& array, std::size_t elements_max, const ListSummary& summary) {
    return std::visit(
        [&](const auto& items) {
            if (items.size() > elements_max)
                return summary(items.size());
            Json list = Json::array();
            for (const auto& item : items) {
                if constexpr (std::is_same_v<std::decay_t<decltype(item)>, gguf::Array>) {
                    list.push_back(array_json(item, elements_max, summary));
                } else {
                    list.push_back(item);
                }
            }
            return list;
        },
        array.items);
}

} // namespace

Json value_json(const gguf::Value& value, std::size_t elements_max, const ListSummary& summary) {
    return std::visit(
        [&](const auto& one) {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, gguf::Array>) {
                return array_json(one, elements_max, summary);
            } else {
                return Json(one);
            }
        },
        value);
}

} // namespace etna::server
