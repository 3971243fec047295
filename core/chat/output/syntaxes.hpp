#pragma once

#include "core/chat/output/syntax.hpp"

#include <vector>

/// The table of families, in parts. Sources: the models' own chat templates, what these write for past calls
/// and how they tell the model to call.
namespace etna::chat::output {

std::vector<ReasoningMarks> common_reasoning();

std::vector<Syntax> message_families(); ///< output is a sequence of messages
std::vector<Syntax> tagged_families();  ///< arguments one by one between marks
std::vector<Syntax> named_families();   ///< the name stands before the arguments
std::vector<Syntax> object_families();  ///< a call is a JSON object with a name and arguments

} // namespace etna::chat::output
