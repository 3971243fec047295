#pragma once

#include "cli/options/option_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

// Options of llama.cpp's and Ollama's programs, and their equivalents in etna. Names that mean the same in
// etna are only in the option tables.
namespace etna::cli {

/// Concatenates arrays.
template <std::size_t... sizes>
constexpr auto joined(const std::array<CompatOption, sizes>&... parts) {
    std::array<CompatOption, (sizes + ...)> all{};
    auto at = all.begin();
    ((at = std::copy(parts.begin(), parts.end(), at)), ...);
    return all;
}

inline constexpr std::array compat_model = {
    CompatOption{.names = "-m, --model", .ours = "MODEL"},
    CompatOption{.names = "-hf, -hfr, --hf-repo, -hff, --hf-file, -mu, --model-url, -dr, --docker-repo",
                 .meaning = CompatMeaning::missing,
                 .hint =
                     "etna does not download models yet: put a .gguf file into $XDG_DATA_HOME/etna/models "
                     "(~/.local/share/etna/models) and name it without .gguf, or give its path"},
};

inline constexpr std::string_view one_device = "the complete model runs on one device, selected by --device";
inline constexpr std::string_view own_threads = "set LP_NUM_THREADS to limit the threads of the CPU driver";
inline constexpr std::string_view own_batches =
    "etna chooses batch sizes; `etna serve` has --batch-tokens to limit them";
inline constexpr std::string_view in_device_memory = "the weights are copied to the device's memory";
inline constexpr std::string_view own_cache = "prompts stay in the cache while there is room";
inline constexpr std::string_view in_the_file = "the model's file defines how positions are scaled";
inline constexpr std::string_view fixed_order =
    "the samplers and their order are fixed: --temp, --top-k, --top-p, --min-p, "
    "--typical-p, --top-n-sigma, --xtc-probability and --dry-multiplier";

/// For commands that run models on a device.
inline constexpr std::array compat_device = {
    CompatOption{.names = "-dev", .ours = "device"},
    CompatOption{.names = "-ctk, --cache-type-k", .ours = "key-type"},
    CompatOption{.names = "-ctv, --cache-type-v", .ours = "value-type"},
    CompatOption{.names = "-md, --model-draft, --spec-draft-model", .ours = "draft"},
    CompatOption{.names = "--draft-max, --draft-n, --spec-draft-n-max", .ours = "num-assistant-tokens"},
    CompatOption{.names = "--chat-template-file", .ours = "chat-template"},
    CompatOption{.names = "-ngl, --gpu-layers, --n-gpu-layers, -sm, --split-mode, -ts, --tensor-split, -mg, "
                          "--main-gpu, -ot, --override-tensor, -ncmoe, --n-cpu-moe, -fit, --fit",
                 .meaning = CompatMeaning::no_effect,
                 .hint = one_device},
    CompatOption{.names = "-nkvo, --no-kv-offload, -kvo, --kv-offload, -cmoe, --cpu-moe, --no-op-offload",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = one_device},
    CompatOption{.names = "-t, --threads, -tb, --threads-batch, -C, --cpu-mask, -Cr, --cpu-range, "
                          "--cpu-strict, --prio, --poll, --numa",
                 .meaning = CompatMeaning::no_effect,
                 .hint = own_threads},
    CompatOption{.names = "-b, --batch-size, -ub, --ubatch-size, --draft-min, --draft-p-min",
                 .meaning = CompatMeaning::no_effect,
                 .hint = own_batches},
    CompatOption{.names = "-fa, --flash-attn",
                 .value = CompatValue::optional_switch,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "etna selects the attention kernels"},
    CompatOption{.names = "--mlock, --no-mmap, --mmap, --no-direct-io, --no-host, --check-tensors, "
                          "--warmup, --no-warmup",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = in_device_memory},
    CompatOption{.names = "-cb, --cont-batching, -nocb, --no-cont-batching, -kvu, --kv-unified, --swa-full, "
                          "--cache-prompt, --no-cache-prompt, --context-shift, --no-context-shift, "
                          "--prompt-cache-all, --prompt-cache-ro",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = own_cache},
    CompatOption{.names = "--cache-reuse, -cram, --cache-ram, --ctx-checkpoints, --prompt-cache, --keep, "
                          "-dt, --defrag-thold, --keepalive",
                 .meaning = CompatMeaning::no_effect,
                 .hint = own_cache},
    CompatOption{.names = "--jinja",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "chat templates are always Jinja"},
    CompatOption{.names = "--reasoning-format",
                 .meaning = CompatMeaning::no_effect,
                 .hint = "reasoning is always separated from the answer"},
    CompatOption{.names = "-lv, --verbosity, --log-verbosity, --log-disable, --log-colors, --log-prefix, "
                          "--log-timestamps",
                 .value = CompatValue::optional_switch,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "etna logs little; --verbose logs more"},
    CompatOption{.names = "--log-file",
                 .meaning = CompatMeaning::missing,
                 .hint = "messages go to standard error; redirect it with 2> FILE"},
    CompatOption{.names = "--rope-scaling, --rope-scale, --rope-freq-base, --rope-freq-scale, "
                          "--yarn-orig-ctx, --yarn-ext-factor, --yarn-attn-factor, --yarn-beta-slow, "
                          "--yarn-beta-fast, --override-kv",
                 .meaning = CompatMeaning::missing,
                 .hint = in_the_file},
    CompatOption{.names = "--lora, --lora-scaled, --control-vector, --control-vector-scaled, -mm, --mmproj, "
                          "--image, --audio",
                 .meaning = CompatMeaning::missing,
                 .hint =
                     "adapters, images and audio are not supported; merge an adapter into the model's file"},
};

/// For commands that generate an answer.
inline constexpr std::array compat_answer = {
    CompatOption{.names = "--predict, --n-predict, --num-predict", .ours = "max-tokens"},
    CompatOption{.names = "--num-ctx", .ours = "ctx-size"},
    CompatOption{.names = "--temperature", .ours = "temp"},
    CompatOption{.names = "-s", .ours = "seed"},
    CompatOption{.names = "--typical", .ours = "typical-p"},
    CompatOption{.names = "--top-nsigma", .ours = "top-n-sigma"},
    CompatOption{.names = "--min-keep-tokens", .ours = "min-keep"},
    CompatOption{.names = "-l", .ours = "logit-bias"},
    CompatOption{.names = "-r, --reverse-prompt", .ours = "stop"},
    CompatOption{.names = "-j, -jf, --json-schema-file", .ours = "json-schema"},
    CompatOption{.names = "--grammar-file", .ours = "grammar"},
    CompatOption{.names = "-sys, --system-prompt", .ours = "system"},
    CompatOption{.names = "--hidethinking", .value = CompatValue::none, .ours = "reasoning", .fixed = "hide"},
    CompatOption{.names = "--format",
                 .meaning = CompatMeaning::missing,
                 .hint = "--json-schema '{\"type\": \"object\"}' constrains the answer to a JSON object"},
    CompatOption{.names = "-sysf, --system-prompt-file",
                 .meaning = CompatMeaning::missing,
                 .hint = "--system \"$(cat FILE)\" reads the text from a file"},
    CompatOption{.names = "--samplers, --sampling-seq, --sampler-seq, --mirostat, --mirostat-lr, "
                          "--mirostat-ent, --dynatemp-range, --dynatemp-exp, --adaptive-target",
                 .meaning = CompatMeaning::missing,
                 .hint = fixed_order},
    CompatOption{.names = "--reasoning-budget",
                 .meaning = CompatMeaning::missing,
                 .hint = "--no-think is a budget of 0; --think sets no limit"},
    CompatOption{.names = "--chat-template-kwargs",
                 .meaning = CompatMeaning::missing,
                 .hint =
                     "use --think and --no-think, the switches of templates; a --messages file may contain "
                     "chat_template_kwargs"},
    CompatOption{.names = "--in-prefix, --in-suffix, --in-prefix-bos",
                 .meaning = CompatMeaning::missing,
                 .hint = "the chat template writes the text around a message"},
    CompatOption{.names = "-sp, --special",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = "answers contain no special tokens; `etna render` shows those of the prompt"},
    CompatOption{.names = "-e, --escape",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = "escapes are not interpreted; the shell can write newlines, as in $'one\\ntwo'"},
    CompatOption{.names = "--no-escape",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "escapes are never interpreted"},
};

/// For commands that show an answer to a user.
inline constexpr std::array compat_terminal = {
    CompatOption{.names = "--no-display-prompt, --simple-io, --no-perf, --perf, --show-timings, "
                          "--no-show-timings",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "standard output contains only the answer; --verbose prints timings"},
    CompatOption{.names = "-co, --color",
                 .value = CompatValue::optional_switch,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "messages are coloured on a terminal unless NO_COLOR is set"},
};

inline constexpr std::array compat_run = {
    CompatOption{.names = "-p, --prompt", .ours = "PROMPT"},
    CompatOption{
        .names = "-no-cnv, --no-conversation", .value = CompatValue::none, .ours = "raw", .fixed = "true"},
    CompatOption{.names = "-st, --single-turn",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "`etna run` answers once"},
    CompatOption{.names = "-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
                          "--multiline-input",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = "`etna chat MODEL` holds a conversation"},
    CompatOption{.names = "--nowordwrap",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "`etna run` never breaks lines"},
};

inline constexpr std::array compat_chat = {
    CompatOption{.names = "--nowordwrap", .value = CompatValue::none, .ours = "no-wrap", .fixed = "true"},
    CompatOption{
        .names = "-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
                 "--multiline-input",
        .value = CompatValue::none,
        .meaning = CompatMeaning::no_effect,
        .hint =
            "`etna chat` is always a conversation; three double quotes begin and end a multi-line message"},
    CompatOption{.names = "-no-cnv, --no-conversation, -st, --single-turn",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = "`etna run MODEL PROMPT` answers once"},
    CompatOption{
        .names = "-p, --prompt, -f, --file",
        .meaning = CompatMeaning::missing,
        .hint = "type the message, or attach a file with /file PATH; `etna run MODEL PROMPT` answers once"},
};

inline constexpr std::string_view set_in_request =
    "set it in the request, or in a generation_config.json next to the model";

inline constexpr std::array compat_serve = {
    CompatOption{.names = "-np", .ours = "parallel"},
    CompatOption{.names = "-a", .ours = "alias"},
    CompatOption{.names = "--ssl-cert-file", .ours = "tls-cert"},
    CompatOption{.names = "--ssl-key-file", .ours = "tls-key"},
    CompatOption{.names = "--metrics, --slots, --no-slots, --props, --no-webui, --no-ui, --models-autoload",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::no_effect,
                 .hint = "all routes are always available; --routes lists them"},
    CompatOption{.names = "--threads-http",
                 .meaning = CompatMeaning::no_effect,
                 .hint = "--requests-max limits the concurrent requests"},
    CompatOption{.names = "-to, --timeout",
                 .meaning = CompatMeaning::missing,
                 .hint = "--write-timeout limits a client's pauses, --request-timeout the time of a request"},
    CompatOption{.names = "-n, --predict, --n-predict, -s, --seed, --temp, --temperature, --top-k, --top-p, "
                          "--min-p, --typical, --top-nsigma, --repeat-penalty, --repeat-last-n, "
                          "--presence-penalty, --frequency-penalty, --xtc-probability, --dry-multiplier, "
                          "-r, --grammar, --grammar-file, -j, -jf, --json-schema, "
                          "--json-schema-file, -sys, --system-prompt, --chat-template-kwargs, "
                          "--reasoning-budget, -p, --prompt, -f, --file",
                 .meaning = CompatMeaning::missing,
                 .hint = set_in_request},
    CompatOption{.names = "--ignore-eos",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = set_in_request},
    CompatOption{.names = "--embedding, --embeddings, --rerank, --reranking",
                 .value = CompatValue::none,
                 .meaning = CompatMeaning::missing,
                 .hint = "etna does not compute embeddings yet"},
    CompatOption{.names = "--path, --api-prefix, --slot-save-path, --models-preset, --pooling",
                 .meaning = CompatMeaning::missing,
                 .hint =
                     "--chat-path and --completions-path rename two routes; --store names the file of stored "
                     "responses"},
};

} // namespace etna::cli
