#include "server/faces/rerank/member_texts.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::rerank {
namespace {

std::string_view view(const Json& text) {
    return text.get_ref<const std::string&>();
}

/// The text of an element; empty, with the error recorded, if it has none.
std::string_view element_text(Fields& fields, const Json& element, const std::string& path) {
    if (element.is_string())
        return view(element);
    if (!element.is_object()) {
        fields.refuse(path, "must be a string, or an object with `text`", "invalid_type");
        return {};
    }
    const auto text = element.find("text");
    if (text != element.end() && text->is_string())
        return view(*text);
    fields.refuse(path + ".text", "must be a string", "invalid_type");
    return {};
}

} // namespace

MemberTexts read_text(Fields& fields, std::string_view name) {
    MemberTexts texts{.member = std::string(name)};
    fields.require(name);
    const Json* const text = fields.any(name);
    if (text == nullptr)
        return texts;
    if (!text->is_string()) {
        fields.refuse(name, "must be a string", "invalid_type");
    } else if (view(*text).empty()) {
        fields.refuse(name, "must not be empty");
    } else {
        texts.texts.push_back(view(*text));
    }
    return texts;
}

MemberTexts read_text_list(Fields& fields, std::string_view name) {
    MemberTexts texts{.member = std::string(name), .is_list = true};
    fields.require(name);
    const Json* const list = fields.list(name);
    if (list == nullptr)
        return texts;
    if (list->empty())
        fields.refuse(name, "must not be empty", "empty_array");
    if (list->size() > documents_max) {
        fields.refuse(name, fmt::format("has {} texts; at most {} are accepted", list->size(), documents_max),
                      "array_above_max_length");
        return texts;
    }
    for (std::size_t i = 0; i < list->size(); ++i)
        texts.texts.push_back(element_text(fields, (*list)[i], fmt::format("{}[{}]", name, i)));
    return texts;
}

MemberTexts read_text_or_list(Fields& fields, std::string_view name) {
    const auto given = fields.json().find(std::string(name));
    return given != fields.json().end() && given->is_array() ? read_text_list(fields, name)
                                                             : read_text(fields, name);
}

} // namespace etna::server::rerank
