// POST /v1/completions. Sources: OpenAI API 2.3.0; OVMS's description of the same endpoint; vLLM's additions.

#include "server/openai/answer.hpp"
#include "server/openai/completion_request.hpp"
#include "server/openai/endpoints.hpp"

namespace etna::server::openai {

HttpReply completions(Service& service, const HttpRequest& request, const Call& call) {
    static const EndpointSpec kind = {.endpoint = "completions",
                                      .id_prefix = "cmpl-",
                                      .object = "text_completion",
                                      .chunk_object = "text_completion",
                                      .prompt_member = "prompt",
                                      .read = read_completion};
    return answer(service, request, call, kind);
}

} // namespace etna::server::openai
