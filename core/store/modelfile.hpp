#pragma once

#include "core/base/result.hpp"
#include "core/store/manifest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

/// The contents of an Ollama Modelfile, with etna's option names.
struct Modelfile {
    std::string from;
    std::string chat_template;         ///< in Jinja; empty: none
    std::vector<PresetOption> options; ///< `system` among them
};

/// Parses a Modelfile: FROM, SYSTEM, TEMPLATE in Jinja, PARAMETER of the options that etna has, LICENSE,
/// which is ignored, and comments. Source: Ollama, docs/modelfile.md. Errors: invalid_argument (names
/// `origin`, the line and the instruction or parameter: not one of these, a template in Go, no FROM, open
/// quotes).
Result<Modelfile> parse_modelfile(std::string_view text, std::string_view origin);

/// Returns Ollama's name of an option of etna, such as `temperature` for `temp`; the same name if it has
/// none.
std::string_view ollama_parameter(std::string_view option);

} // namespace etna::store
