#include "core/grammar/schema/uri.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace etna::grammar {
namespace {

struct Parts {
    std::optional<std::string_view> scheme = {};
    std::optional<std::string_view> authority = {};
    std::string_view path = {};
    std::optional<std::string_view> query = {};
    std::optional<std::string_view> fragment = {};
};

/// Splits `text` at the first `mark` and returns the part after it.
std::optional<std::string_view> cut_after(std::string_view& text, char mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = text.substr(at + 1);
    text = text.substr(0, at);
    return rest;
}

Parts parts_of(std::string_view uri) {
    Parts parts;
    parts.fragment = cut_after(uri, '#');
    parts.query = cut_after(uri, '?');
    const std::size_t colon = uri.find(':');
    if (colon != std::string_view::npos && colon > 0 && uri.find('/') > colon) {
        parts.scheme = uri.substr(0, colon);
        uri.remove_prefix(colon + 1);
    }
    if (uri.substr(0, 2) == "//") {
        uri.remove_prefix(2);
        const std::size_t end = std::min(uri.find('/'), uri.size());
        parts.authority = uri.substr(0, end);
        uri.remove_prefix(end);
    }
    parts.path = uri;
    return parts;
}

std::string without_dots(std::string_view path) {
    std::vector<std::string_view> segments;
    const bool is_absolute = path.substr(0, 1) == "/";
    bool ends_in_folder = false;
    for (std::size_t at = is_absolute ? 1 : 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view segment = path.substr(at, end - at);
        ends_in_folder = segment == "." || segment == "..";
        if (segment == "..") {
            if (!segments.empty())
                segments.pop_back();
        } else if (segment != ".") {
            segments.push_back(segment);
        }
        at = end + 1;
    }
    std::string result;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (i > 0 || is_absolute)
            result += '/';
        result += segments[i];
    }
    if (ends_in_folder)
        result += '/';
    return result;
}

std::string merged_path(const Parts& base, std::string_view path) {
    if (path.substr(0, 1) == "/")
        return without_dots(path);
    std::string merged;
    if (base.authority && base.path.empty()) {
        merged = '/';
    } else if (const std::size_t slash = base.path.rfind('/'); slash != std::string_view::npos) {
        merged = base.path.substr(0, slash + 1);
    }
    merged += path;
    return without_dots(merged);
}

std::string joined(const Parts& parts, std::string_view path) {
    std::string result;
    if (parts.scheme) {
        result += *parts.scheme;
        result += ':';
    }
    if (parts.authority) {
        result += "//";
        result += *parts.authority;
    }
    result += path;
    if (parts.query) {
        result += '?';
        result += *parts.query;
    }
    if (parts.fragment) {
        result += '#';
        result += *parts.fragment;
    }
    return result;
}

} // namespace

std::string resolved_uri(std::string_view base, std::string_view reference) {
    const Parts from = parts_of(base);
    Parts to = parts_of(reference);
    if (to.scheme)
        return joined(to, without_dots(to.path));
    to.scheme = from.scheme;
    if (to.authority)
        return joined(to, without_dots(to.path));
    to.authority = from.authority;
    if (!to.path.empty())
        return joined(to, merged_path(from, to.path));
    if (!to.query)
        to.query = from.query;
    return joined(to, from.path);
}

SplitUri split_fragment(std::string_view uri) {
    const std::size_t hash = std::min(uri.find('#'), uri.size());
    return {.document = uri.substr(0, hash), .fragment = uri.substr(std::min(hash + 1, uri.size()))};
}

std::string percent_decoded(std::string_view text) {
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9')
            return c - '0';
        const char lower = static_cast<char>(c | 0x20);
        return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    };
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_escape =
            text[at] == '%' && at + 2 < text.size() && digit(text[at + 1]) >= 0 && digit(text[at + 2]) >= 0;
        if (is_escape) {
            result += static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2]));
            at += 2;
        } else {
            result += text[at];
        }
    }
    return result;
}

} // namespace etna::grammar
