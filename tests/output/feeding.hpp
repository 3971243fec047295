#pragma once

#include "core/output/parser.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Ways to split an output into chunks for the parser, and checks of the resulting events.
namespace etna::test {

/// The result of feed().
struct Fed {
    std::vector<output::Event> events; ///< adjacent deltas of one kind merged
    output::Output output;
};

/// Chunk boundaries, ascending byte offsets.
using Cuts = std::vector<std::size_t>;

Cuts every_byte(std::string_view text);
Cuts every_character(std::string_view text);
Cuts random_pieces(std::string_view text, unsigned seed); ///< of 1 to 8 bytes

/// Parses `text` in chunks. Precondition: `options` are valid.
Fed feed(const output::Syntax& syntax, const output::ParserOptions& options, std::string_view text,
         const Cuts& cuts, output::Ending ending = output::Ending::complete);

/// Checks order and numbering of events, that arguments of finished calls are JSON objects, and that texts
/// are UTF-8. Returns the first violation; empty if there are no violations.
std::string broken_rule(const std::vector<output::Event>& events);

std::string to_string(const std::vector<output::Event>& events);

std::string_view without_last_space(std::string_view text);

/// Feeds `input` to the parser of model output in several ways. Its first byte picks the family, with or
/// without expected reasoning, tools and start; the rest is the output. Returns the first property
/// that does not hold; nothing if all hold.
std::optional<std::string> broken_property(std::string_view input);

} // namespace etna::test
