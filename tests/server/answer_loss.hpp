#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::test {

/// Parses a model's output and writes it as answers of every API, complete and streamed. Its first byte picks
/// the syntax and the start; the rest is the output. Returns the first answer that lacks a part of the text
/// or of the calls; nothing if none does.
std::optional<std::string> lost_answer(std::string_view input);

} // namespace etna::test
