#pragma once

#include "server/json.hpp"
#include "server/openai/answering.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace etna::server::openai {

/// Formats a Dynamo annotation (`nvext.annotations`) as a stream event.
std::string annotation_frame(std::string_view name, const Json& value);

/// Calls `tell` with the prompt annotations that the request asked for: the bare value for one prompt,
/// {"index", NAME} per prompt for several.
void tell_prompts(const Answering& answering,
                  const std::function<void(std::string_view name, Json value)>& tell);

/// The requested prompt and timing annotations, as a member of a non-streamed response; null: none requested.
Json annotations_of(const Answering& answering);

} // namespace etna::server::openai
