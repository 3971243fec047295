// Writes vocabulary-only GGUF files from tokenizer.json, with the keys and values of llama.cpp's converter.

const TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 };
const TOKEN = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

class Writer {
  parts = [];
  number(value, bytes, write) {
    const part = Buffer.alloc(bytes);
    part[write](value);
    this.parts.push(part);
  }
  uint32 = (value) => this.number(value, 4, "writeUInt32LE");
  uint64 = (value) => this.number(BigInt(value), 8, "writeBigUInt64LE");
  int32 = (value) => this.number(value, 4, "writeInt32LE");
  float32 = (value) => this.number(value, 4, "writeFloatLE");
  bool = (value) => this.number(value ? 1 : 0, 1, "writeUInt8");
  string = (value) => {
    const bytes = Buffer.from(value, "utf8");
    this.uint64(bytes.length);
    this.parts.push(bytes);
  };
  value(type, value) {
    this.uint32(TYPE[type]);
    this[type](value);
  }
  list(type, values) {
    this.uint32(TYPE.array);
    this.uint32(TYPE[type]);
    this.uint64(values.length);
    values.forEach(this[type]);
  }
}

/// Tokens by id, and their types. Ids without a token are padding, as in the converter.
function tokensOf(json) {
  const names = [];
  const types = [];
  for (const [name, id] of Object.entries(json.model.vocab)) {
    names[id] = name;
    types[id] = json.model.byte_fallback && /^<0x[0-9A-F]{2}>$/.test(name) ? TOKEN.byte : TOKEN.normal;
  }
  for (const token of json.added_tokens) {
    names[token.id] = token.content;
    types[token.id] = isControl(token) ? TOKEN.control : TOKEN.userDefined;
    if (token.content === json.model.unk_token) types[token.id] = TOKEN.unknown;
  }
  for (let id = 0; id < names.length; ++id) {
    names[id] ??= `[PAD${id}]`;
    types[id] ??= TOKEN.unused;
  }
  return { names, types };
}

function unigramTokensOf(json) {
  const names = json.model.vocab.map(([name]) => name);
  const types = names.map((_, id) => (id === json.model.unk_id ? TOKEN.unknown : TOKEN.normal));
  for (const token of json.added_tokens) if (token.id !== json.model.unk_id) types[token.id] = TOKEN.control;
  return { names, types };
}

/// The converter takes tokens that look special for control tokens, whatever tokenizer.json calls them.
export function isControl(token) {
  return token.special || /^(<\|.*\|>|<｜.*｜>)$/.test(token.content);
}

const mergesOf = (json) => json.model.merges.map((merge) => (Array.isArray(merge) ? merge : merge.split(" ")));

/// Pieces of WordPiece as the converter spells them: U+2581 before those that begin words, and no ## before the others.
function spelledWord(name, type) {
  if (type !== TOKEN.normal) return name;
  return name.startsWith("##") ? name.slice(2) : "▁" + name;
}

/// SentencePiece's scores: the earlier a merge makes a piece, the higher. Other pieces come last.
function scoresOf(json, names) {
  const scores = new Map();
  mergesOf(json).forEach(([left, right], order) => {
    if (!scores.has(left + right)) scores.set(left + right, -order);
  });
  return names.map((name) => scores.get(name) ?? -1e6);
}

/// Returns the bytes of the file. `model` is `tokenizer.ggml.model`, `pre` is `tokenizer.ggml.pre`.
export function vocabularyFile(json, { model, pre }) {
  const { names, types } = model === "t5" ? unigramTokensOf(json) : tokensOf(json);
  if (model === "bert") names.forEach((name, id) => (names[id] = spelledWord(name, types[id])));
  const entries = [
    ["general.architecture", (out) => out.value("string", "llama")],
    ["tokenizer.ggml.model", (out) => out.value("string", model)],
    ["tokenizer.ggml.tokens", (out) => out.list("string", names)],
    ["tokenizer.ggml.token_type", (out) => out.list("int32", types)],
    ["tokenizer.ggml.add_bos_token", (out) => out.value("bool", false)],
    ["tokenizer.ggml.add_space_prefix", (out) => out.value("bool", model === "t5")],
  ];
  if (pre) entries.push(["tokenizer.ggml.pre", (out) => out.value("string", pre)]);
  if (model === "bert" || model === "t5") {
    entries.push(["tokenizer.ggml.unknown_token_id", (out) => out.value("uint32", names.indexOf(json.model.unk_token))]);
    entries.push(["tokenizer.ggml.add_eos_token", (out) => out.value("bool", false)]);
  }
  if (model === "t5") {
    entries.push(["tokenizer.ggml.scores", (out) => out.list("float32", json.model.vocab.map(([, score]) => score))]);
  } else if (model === "bert") {
    // has neither scores nor merges
  } else if (model === "llama") {
    entries.push(["tokenizer.ggml.scores", (out) => out.list("float32", scoresOf(json, names))]);
  } else {
    const spelled = mergesOf(json).map((merge) => merge.map((piece) => piece.replaceAll(" ", "Ġ")).join(" "));
    entries.push(["tokenizer.ggml.merges", (out) => out.list("string", spelled)]);
  }
  const out = new Writer();
  out.parts.push(Buffer.from("GGUF"));
  out.uint32(3);
  out.uint64(0);
  out.uint64(entries.length);
  for (const [key, write] of entries) {
    out.string(key);
    write(out);
  }
  return Buffer.concat(out.parts);
}
