#pragma once

#include <span>
#include <string>
#include <string_view>

namespace etna::server {

/// Normalizes a model name for matching: lower-case ASCII, without the suffixes that programs append: ".gguf"
/// of files, ":latest" of tags.
std::string plain_name(std::string_view name);

/// Lists the served models for a client that requested `wanted`: all of them, or the three most similar if
/// there are more than eight.
std::string served_names(std::string_view wanted, std::span<const std::string> names);

} // namespace etna::server
