// POST /v1/chat/completions. Sources: OpenAI API 2.3.0; Dynamo's and OVMS's descriptions of the same
// endpoint.

#include "server/openai/answer.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/endpoints.hpp"

namespace etna::server::openai {

HttpReply chat_completions(Service& service, const HttpRequest& request, const Call& call) {
    static const EndpointSpec kind = {.endpoint = "chat_completions",
                                      .id_prefix = "chatcmpl-",
                                      .object = "chat.completion",
                                      .chunk_object = "chat.completion.chunk",
                                      .prompt_member = "messages",
                                      .read = read_chat};
    return answer(service, request, call, kind);
}

} // namespace etna::server::openai
