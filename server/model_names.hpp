#pragma once

#include <span>
#include <string>
#include <string_view>

namespace etna::server {

/// What of a model's name tells it from others: ASCII letters made small, and without an ending that programs
/// put behind a name: ".gguf" of files, ":latest" of tags.
std::string plain_name(std::string_view name);

/// Names the served models for a client that asked for `wanted`: all of them, or the three most similar if
/// there are more than eight.
std::string served_names(std::string_view wanted, std::span<const std::string> names);

} // namespace etna::server
