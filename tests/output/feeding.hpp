#pragma once

#include "core/output/parser.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Ways to feed one output to the parser, and what must hold however it is fed.
namespace etna::test {

struct Fed {
    std::vector<output::Event> events; ///< neighbouring pieces of the same kind joined
    output::Output output;
};

/// Ends of pieces, ascending; what comes after the last one is the last piece.
using Cuts = std::vector<std::size_t>;

Cuts every_byte(std::string_view text);
Cuts every_character(std::string_view text);
Cuts random_pieces(std::string_view text, unsigned seed); ///< 1 to 8 bytes long

/// `options` are valid.
Fed feed(const output::Syntax& syntax, const output::ParserOptions& options, std::string_view text,
         const Cuts& cuts, output::Ending ending = output::Ending::complete);

/// What is wrong with the events in themselves: order, numbering, arguments of a finished call that are no
/// JSON object, text that is not UTF-8. Empty: nothing.
std::string broken_rule(const std::vector<output::Event>& events);

std::string to_string(const std::vector<output::Event>& events);

std::string_view without_last_space(std::string_view text);

} // namespace etna::test
