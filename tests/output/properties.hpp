#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::test {

/// Feeds `input` to the parser of model output in several ways. Its first byte picks the family, with or
/// without expected reasoning, tools and start; the rest is the output. What does not hold; nothing: all is
/// well.
std::optional<std::string> broken_property(std::string_view input);

} // namespace etna::test
