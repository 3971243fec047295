#pragma once

#include "server/json.hpp"
#include "server/openai/answering.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace etna::server::openai {

/// An annotation of Dynamo's (`nvext.annotations`) as an event of a stream.
std::string annotation_frame(std::string_view name, const Json& value);

/// Calls `tell` with the annotations of its prompts that a request wants: of one prompt the value as it is,
/// of several {"index", NAME} for each.
void tell_prompts(const Answering& answering,
                  const std::function<void(std::string_view name, Json value)>& tell);

/// What is wanted of prompts and time, as a member of an answer that is no stream; null: nothing is.
Json annotations_of(const Answering& answering);

} // namespace etna::server::openai
