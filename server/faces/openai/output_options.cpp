#include "server/faces/openai/output_options.hpp"

#include <string>

namespace etna::server::openai {
namespace {

void read_annotation(Fields& fields, const Json& name, OutputOptions& options) {
    if (name == "formatted_prompt") {
        options.includes_prompt = true;
    } else if (name == "token_ids") {
        options.includes_prompt_tokens = true;
    } else if (name == "timing") {
        options.includes_timing = true;
    } else if (name.is_string()) {
        fields.adopt_unknown({"nvext.annotations." + name.get<std::string>()});
    } else {
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    }
}

void read_stream_options(Fields& fields, OutputOptions& options) {
    const Json* object = fields.object("stream_options");
    if (object == nullptr)
        return;
    Fields nested(*object, "stream_options");
    options.includes_usage = nested.flag("include_usage").value_or(false);
    const bool counts_each = nested.flag("continuous_usage_stats").value_or(false); // vLLM's
    options.counts_each_chunk = options.includes_usage && counts_each;
    nested.accept({"include_obfuscation"});
    constexpr const char* problem = "requires `stream`: true";
    if (!options.is_streamed && nested.any("include_usage") != nullptr) {
        nested.refuse("include_usage", problem);
    } else if (!options.is_streamed) {
        fields.refuse("stream_options", problem);
    }
    fields.adopt(nested);
}

} // namespace

void read_output_options(Fields& fields, OutputOptions& options) {
    options.is_streamed = fields.flag("stream").value_or(false);
    read_stream_options(fields, options);
    options.has_timings = fields.flag("timings_per_token").value_or(false);
    const Json* nvext = fields.object("nvext");
    const auto annotations = nvext == nullptr ? Json() : nvext->value("annotations", Json());
    if (!annotations.is_null() && !annotations.is_array())
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    for (const Json& name : annotations.is_array() ? annotations : Json::array())
        read_annotation(fields, name, options);
}

void accept_without_effect(Fields& fields, bool is_stored) {
    if (is_stored) {
        fields.accept({"store", "user", "metadata"}); // all are returned with the stored object
    } else {
        fields.note({"store", "user", "metadata"});
    }
    fields.note({"safety_identifier", "prompt_cache_key", "service_tier"});
}

} // namespace etna::server::openai
