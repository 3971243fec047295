#pragma once

#include "core/output/syntax.hpp"

#include <vector>

/// The table of model families, in parts. Sources: the models' chat templates, that is, how they render past
/// calls and how they instruct the model to call.
namespace etna::output {

/// A call that is the JSON object of its arguments.
inline const Pattern json_object = {{.slot = Slot::object}};

std::vector<ReasoningMarks> common_reasoning();

std::vector<Syntax> message_families(); ///< output is a sequence of messages
std::vector<Syntax> tagged_families();  ///< each argument is enclosed in marks
std::vector<Syntax> named_families();   ///< the name precedes the arguments
std::vector<Syntax> object_families();  ///< a call is a JSON object with a name and arguments

} // namespace etna::output
