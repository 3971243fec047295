#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// What of a model's name tells it from others: ASCII letters made small, and without an ending that programs
/// put behind a name: ".gguf" of files, ":latest" of tags.
std::string plain_name(std::string_view name);

/// Those of `names`, at most three, that are most like `wanted`.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names);

} // namespace etna::server
