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

/// An option that etna accepts and ignores; `hint`: why that makes no visible difference.
constexpr CompatOption no_effect(std::string_view names, std::string_view hint,
                                 CompatValue value = CompatValue::one) {
    return {.names = names, .value = value, .meaning = CompatMeaning::no_effect, .hint = hint};
}

/// An option that is an error; `hint` names the alternative.
constexpr CompatOption missing(std::string_view names, std::string_view hint,
                               CompatValue value = CompatValue::one) {
    return {.names = names, .value = value, .meaning = CompatMeaning::missing, .hint = hint};
}

inline constexpr std::array compat_model = {
    CompatOption{.names = "-m, --model", .ours = "MODEL"},
    CompatOption{.names = "-hf, -hfr, --hf-repo, -mu, --model-url", .ours = "MODEL"},
    missing("-hff, --hf-file", "name the file after the colon: -hf USER/REPO:FILE.gguf"),
    missing("-hft, --hf-token", "set HF_TOKEN: other users of the machine can see a command line"),
    missing("-dr, --docker-repo", "etna fetches from the Hugging Face hub: hf.co/USER/REPO[:QUANT]"),
};

inline constexpr std::string_view one_device = "the complete model runs on one device, selected by --device";
inline constexpr std::string_view all_host_layers = "10000"; ///< the largest --experts-in-host
inline constexpr std::string_view own_threads = "set LP_NUM_THREADS to limit the threads of the CPU driver";
inline constexpr std::string_view own_batches =
    "etna chooses batch sizes; `etna serve` has --batch-tokens to limit them";
inline constexpr std::string_view in_device_memory = "the weights are copied to the device's memory";
inline constexpr std::string_view own_cache = "prompts stay in the cache while there is room";
inline constexpr std::string_view in_the_file = "the model's file defines how positions are scaled";
inline constexpr std::string_view fixed_order =
    "the samplers and their order are fixed: --temp, --top-k, --top-p, --min-p, "
    "--typical-p, --top-n-sigma, --xtc-probability and --dry-multiplier";

inline constexpr std::array compat_experts = {
    CompatOption{.names = "-ncmoe, --n-cpu-moe", .ours = "experts-in-host"},
    CompatOption{.names = "-cmoe, --cpu-moe",
                 .value = CompatValue::none,
                 .ours = "experts-in-host",
                 .fixed = all_host_layers},
};

/// For commands that run models on a device.
inline constexpr auto compat_device = joined(
    compat_experts,
    std::array{
        CompatOption{.names = "-dev", .ours = "device"},
        CompatOption{.names = "-ctk, --cache-type-k", .ours = "key-type"},
        CompatOption{.names = "-ctv, --cache-type-v", .ours = "value-type"},
        CompatOption{.names = "-md, --model-draft, --spec-draft-model", .ours = "draft"},
        CompatOption{.names = "--draft-max, --draft-n, --spec-draft-n-max", .ours = "num-assistant-tokens"},
        CompatOption{.names = "--chat-template-file", .ours = "chat-template"},
        no_effect("-ngl, --gpu-layers, --n-gpu-layers, -sm, --split-mode, -ts, --tensor-split, -mg, "
                  "--main-gpu, -ot, --override-tensor, -fit, --fit",
                  one_device),
        no_effect("-nkvo, --no-kv-offload, -kvo, --kv-offload, --no-op-offload", one_device,
                  CompatValue::none),
        no_effect("-t, --threads, -tb, --threads-batch, -C, --cpu-mask, -Cr, --cpu-range, "
                  "--cpu-strict, --prio, --poll, --numa",
                  own_threads),
        no_effect("-b, --batch-size, -ub, --ubatch-size, --draft-min, --draft-p-min", own_batches),
        no_effect("-fa, --flash-attn", "etna selects the attention kernels", CompatValue::optional_switch),
        no_effect("--mlock, --no-mmap, --mmap, --no-direct-io, --no-host, --check-tensors, "
                  "--warmup, --no-warmup",
                  in_device_memory, CompatValue::none),
        no_effect(
            "-cb, --cont-batching, -nocb, --no-cont-batching, -kvu, --kv-unified, --swa-full, "
            "--cache-prompt, --no-cache-prompt, --no-context-shift, --prompt-cache-all, --prompt-cache-ro",
            own_cache, CompatValue::none),
        no_effect("--cache-reuse, -cram, --cache-ram, --ctx-checkpoints, --prompt-cache, --keep, "
                  "-dt, --defrag-thold, --keepalive",
                  own_cache),
        no_effect("--jinja", "chat templates are always Jinja", CompatValue::none),
        no_effect("--reasoning-format", "reasoning is always separated from the answer"),
        no_effect("-lv, --verbosity, --log-verbosity, --log-disable, --log-colors, --log-prefix, "
                  "--log-timestamps",
                  "etna logs little; --verbose logs more", CompatValue::optional_switch),
        missing("--log-file", "messages go to standard error; redirect it with 2> FILE"),
        missing("--rope-scaling, --rope-scale, --rope-freq-base, --rope-freq-scale, "
                "--yarn-orig-ctx, --yarn-ext-factor, --yarn-attn-factor, --yarn-beta-slow, "
                "--yarn-beta-fast, --override-kv",
                in_the_file),
        missing("--lora, --lora-scaled, --control-vector, --control-vector-scaled, -mm, --mmproj, "
                "--image, --audio",
                "adapters, images and audio are not supported; merge an adapter into the model's file"),
    });

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
    missing("--format", "--json-schema '{\"type\": \"object\"}' constrains the answer to a JSON object"),
    missing("-sysf, --system-prompt-file", "--system \"$(cat FILE)\" reads the text from a file"),
    missing("--samplers, --sampling-seq, --sampler-seq, --mirostat, --mirostat-lr, "
            "--mirostat-ent, --dynatemp-range, --dynatemp-exp, --adaptive-target",
            fixed_order),
    missing("--chat-template-kwargs",
            "use --think and --no-think, the switches of templates; a --messages file may contain "
            "chat_template_kwargs"),
    missing("--in-prefix, --in-suffix, --in-prefix-bos",
            "the chat template writes the text around a message"),
    missing("-sp, --special", "answers contain no special tokens; `etna render` shows those of the prompt",
            CompatValue::none),
    missing("-e, --escape", "escapes are not interpreted; the shell can write newlines, as in $'one\\ntwo'",
            CompatValue::none),
    no_effect("--no-escape", "escapes are never interpreted", CompatValue::none),
};

/// For commands that show an answer to a user.
inline constexpr std::array compat_terminal = {
    no_effect("--no-display-prompt, --simple-io, --no-perf, --perf, --show-timings, "
              "--no-show-timings",
              "standard output contains only the answer; --verbose prints timings", CompatValue::none),
    no_effect(
        "--context-shift",
        "only `etna serve --context-shift` shifts; a chat leaves out its oldest turns when the context is "
        "full",
        CompatValue::none),
    no_effect("-co, --color", "messages are coloured on a terminal unless NO_COLOR is set",
              CompatValue::optional_switch),
};

inline constexpr std::array compat_run = {
    CompatOption{.names = "-p, --prompt", .ours = "PROMPT"},
    CompatOption{
        .names = "-no-cnv, --no-conversation", .value = CompatValue::none, .ours = "raw", .fixed = "true"},
    no_effect("-st, --single-turn", "`etna run` answers once", CompatValue::none),
    missing("-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
            "--multiline-input",
            "`etna chat MODEL` holds a conversation", CompatValue::none),
    no_effect("--nowordwrap", "`etna run` never breaks lines", CompatValue::none),
};

inline constexpr std::array compat_chat = {
    CompatOption{.names = "--nowordwrap", .value = CompatValue::none, .ours = "no-wrap", .fixed = "true"},
    no_effect("-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
              "--multiline-input",
              "`etna chat` is always a conversation; three double quotes begin and end a multi-line message",
              CompatValue::none),
    missing("-no-cnv, --no-conversation, -st, --single-turn", "`etna run MODEL PROMPT` answers once",
            CompatValue::none),
    missing("-p, --prompt, -f, --file",
            "type the message, or attach a file with /file PATH; `etna run MODEL PROMPT` answers once"),
};

inline constexpr std::string_view set_in_request =
    "set it in the request, or in a generation_config.json next to the model";

inline constexpr std::array compat_serve = {
    CompatOption{.names = "-np", .ours = "parallel"},
    CompatOption{.names = "-a", .ours = "alias"},
    CompatOption{.names = "--ssl-cert-file", .ours = "tls-cert"},
    CompatOption{.names = "--ssl-key-file", .ours = "tls-key"},
    CompatOption{
        .names = "--no-webui, --no-ui", .value = CompatValue::none, .ours = "no-page", .fixed = "true"},
    no_effect("--webui, --ui", "the web page is served unless --no-page is given", CompatValue::none),
    no_effect("--metrics, --no-slots, --props, --models-autoload",
              "all routes are always available; --routes lists them", CompatValue::none),
    no_effect("--threads-http", "--requests-max limits the concurrent requests"),
    missing("-to, --timeout",
            "--write-timeout limits a client's pauses, --request-timeout the time of a request"),
    missing("-n, --predict, --n-predict, -s, --seed, --temp, --temperature, --top-k, --top-p, "
            "--min-p, --typical, --top-nsigma, --repeat-penalty, --repeat-last-n, "
            "--presence-penalty, --frequency-penalty, --xtc-probability, --dry-multiplier, "
            "-r, --grammar, --grammar-file, -j, -jf, --json-schema, "
            "--json-schema-file, -sys, --system-prompt, --chat-template-kwargs, "
            "-p, --prompt, -f, --file",
            set_in_request),
    missing("--ignore-eos", set_in_request, CompatValue::none),
    no_effect("--embedding, --embeddings", "POST /v1/embeddings embeds texts with every model",
              CompatValue::none),
    CompatOption{
        .names = "--rerank, --reranking", .value = CompatValue::none, .ours = "pooling", .fixed = "rank"},
    missing("--path, --api-prefix, --slot-save-path, --models-preset",
            "--chat-path and --completions-path rename two routes; --store names the file of stored "
            "responses"),
};

} // namespace etna::cli
