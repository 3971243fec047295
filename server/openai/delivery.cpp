#include "server/openai/generation_call.hpp"

namespace etna::server::openai {
namespace {

void read_annotation(Fields& fields, const Json& name, Delivery& delivery) {
    if (name == "formatted_prompt") {
        delivery.tells_prompt = true;
    } else if (name == "token_ids") {
        delivery.tells_tokens = true;
    } else if (name == "timing") {
        delivery.tells_timing = true;
    } else if (name.is_string()) {
        fields.adopt_unknown({"nvext.annotations." + name.get<std::string>()});
    } else {
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    }
}

void read_stream_options(Fields& fields, Delivery& delivery) {
    const Json* object = fields.object("stream_options");
    if (object == nullptr)
        return;
    Fields options(*object, "stream_options");
    delivery.includes_usage = options.flag("include_usage").value_or(false);
    options.accept({"include_obfuscation"});
    if (!delivery.is_streamed)
        options.refuse("include_usage", "is for `stream`: true only");
    if (options.problem())
        fields.adopt(*options.problem());
    fields.adopt_unknown(options.unknown());
}

} // namespace

void read_delivery(Fields& fields, Delivery& delivery) {
    delivery.is_streamed = fields.flag("stream").value_or(false);
    read_stream_options(fields, delivery);
    const Json* nvext = fields.object("nvext");
    const auto annotations = nvext == nullptr ? Json() : nvext->value("annotations", Json());
    if (!annotations.is_null() && !annotations.is_array())
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    for (const Json& name : annotations.is_array() ? annotations : Json::array())
        read_annotation(fields, name, delivery);
}

} // namespace etna::server::openai
