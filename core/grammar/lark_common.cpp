#include "core/grammar/lark_common.hpp"

#include <algorithm>
#include <array>

namespace etna::grammar {
namespace {

struct Terminal {
    std::string_view name;
    std::string_view pattern;
};

constexpr std::array<Terminal, 27> terminals = {
    {{"DIGIT", "[0-9]"},
     {"HEXDIGIT", "[0-9a-fA-F]"},
     {"INT", "[0-9]+"},
     {"SIGNED_INT", "[+-]?[0-9]+"},
     {"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
     {"_EXP", "[eE][+-]?[0-9]+"},
     {"FLOAT", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
     {"SIGNED_FLOAT", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))"},
     {"NUMBER", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+)"},
     {"SIGNED_NUMBER", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+))"},
     {"ESCAPED_STRING", R"("([^"\\\n]|\\[^\n])*")"},
     {"LCASE_LETTER", "[a-z]"},
     {"UCASE_LETTER", "[A-Z]"},
     {"LETTER", "[a-zA-Z]"},
     {"WORD", "[a-zA-Z]+"},
     {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
     {"WS_INLINE", R"([ \t]+)"},
     {"WS", R"([ \t\f\r\n]+)"},
     {"CR", R"(\r)"},
     {"LF", R"(\n)"},
     {"NEWLINE", R"((\r?\n)+)"},
     {"SH_COMMENT", R"(#[^\n]*)"},
     {"CPP_COMMENT", R"(//[^\n]*)"},
     {"C_COMMENT", R"(/\*([^*]|\*+[^*/])*\*+/)"},
     {"SQL_COMMENT", R"(--[^\n]*)"},
     {"_STRING_INNER", R"([^\n]*)"},
     {"_STRING_ESC_INNER", R"(([^"\\\n]|\\[^\n])*)"}}};

} // namespace

std::optional<std::string_view> lark_common_terminal(std::string_view name) {
    const auto found = std::find_if(terminals.begin(), terminals.end(),
                                    [&](const Terminal& one) { return one.name == name; });
    return found == terminals.end() ? std::nullopt : std::optional(found->pattern);
}

} // namespace etna::grammar
