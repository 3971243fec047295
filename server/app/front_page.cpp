#include "server/app/front_page.hpp"

namespace etna::server {

std::string_view front_page() {
    return R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>etna</title>
<h1>etna</h1>
<p>This is <code>etna serve</code>, a server for language models. It speaks OpenAI's API: set the base URL of a
client to this page's address followed by <code>/v1</code>. It speaks Anthropic's Messages API and Ollama's API, too, at
this address. A browser gets a page to chat with here, unless the server runs with <code>--no-page</code>.</p>
<ul>
<li><a href="/v1/models">/v1/models</a>: the served models
<li><a href="/health">/health</a>: whether the server accepts requests
<li><a href="/openapi.json">/openapi.json</a>: all endpoints
</ul>
<p>If the server was started with a key, all pages but this one and <code>/health</code> require it:
<code>Authorization: Bearer KEY</code>.</p>
</html>
)";
}

} // namespace etna::server
