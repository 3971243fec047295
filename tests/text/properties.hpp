#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::test {

/// What must hold for any bytes, over the small vocabularies: encoding succeeds with tokens of the
/// vocabulary, their bytes are the text again (SentencePiece: with its space prefix, and "\u2581" as space),
/// in every mode; decoding gives valid UTF-8, however the stop matcher in front of it is fed. Returns what
/// was broken.
std::optional<std::string> broken_property(std::string_view text);

} // namespace etna::test
