#pragma once

#include <span>
#include <string_view>

// The page's files inside the executable. The build writes their table, see embed.py.
namespace etna::server::page {

struct PageFile {
    std::string_view name; ///< relative to the page's folder: "style/base.css"
    std::string_view content_type;
    std::string_view hash; ///< of the content, 16 hexadecimal digits
    std::string_view plain;
    std::string_view gzip; ///< the same content, compressed
};

/// All files, by name.
std::span<const PageFile> page_files();

/// The hash of all files, 16 hexadecimal digits: part of the addresses of those that never change.
std::string_view page_hash();

} // namespace etna::server::page
