// Random texts for tokenizers: scripts, digits, white space, contractions, emoji, special tokens, odd characters.

/// A generator of reproducible random numbers in [0, 1) (mulberry32).
export function randomSource(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Ranges of characters that Unicode has had for years, so that versions of its tables agree.
const SCRIPTS = [
  [0x61, 0x7a], [0x41, 0x5a], [0xc0, 0xd6], [0x100, 0x17f], [0x1c4, 0x1cc], [0x250, 0x2ad], [0x2b0, 0x2c1],
  [0x391, 0x3a1], [0x3b1, 0x3c9], [0x410, 0x44f], [0x531, 0x556], [0x5d0, 0x5ea], [0x621, 0x63a], [0x904, 0x939],
  [0xe01, 0xe30], [0xb85, 0xb8a], [0x10a0, 0x10c5], [0x10d0, 0x10f0], [0x1200, 0x1248], [0x13a0, 0x13f4],
  [0x1820, 0x1877], [0x1e00, 0x1eff], [0x3041, 0x3096], [0x30a1, 0x30fa], [0x4e00, 0x9fa5], [0xac00, 0xd7a3],
  [0x10400, 0x1044f], [0x20000, 0x2a6d6], [0xff21, 0xff3a], [0x1d400, 0x1d433],
];
const MARKS = [[0x300, 0x36f], [0x591, 0x5af], [0x64b, 0x65f], [0x93e, 0x94d], [0xe34, 0xe3a], [0x302a, 0x302d], [0x20d0, 0x20dc]];
const DIGITS = [[0x30, 0x39], [0x660, 0x669], [0x966, 0x96f], [0xff10, 0xff19], [0x2160, 0x217f], [0x2070, 0x2070], [0xbc, 0xbe], [0x2460, 0x2473]];
const SPACES = [" ", " ", " ", "\n", "\n", "\t", "\r\n", "\r", "\u00a0", "\u2003", "\u3000", "\u2028", "\v", "\f", "\u200b", "\u1680", "\u0085", "\ufeff"];
const CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'M", "'lL", "'D", "’s", "’ll", "'x", "''", "'"];
const EMOJI = ["👍", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵🇫🇷", "1️⃣", "❤️", "🧑🏿‍🚀", "☺", "🫠", "⌚️", "\u200d", "\ufe0f"];
const PUNCTUATION = [..."!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", ..."¡§«»¿–—“”…、。「」！？｜€£¥+×÷≠∞←↑→°©™"];
const ODD = ["\ufffd", "\0", "\x01", "\x1b[0m", "\x7f", "\ue000", "\uf8ff", "\ufdd0", "\uffff", "\u{10ffff}", "\u{e0001}", "\u202e",
  "\u2060", "\u00ad", "\\xC3\\x28", "Ã©", "Ġ", "Ċ", "▁", "<0x0A>", "<|", "|>", "<|im_start", "</", "[INST", "&amp;", "\u{1f}"];
const LINES = ["def f(x):\n    return x*2\n", "if (a != b) { c++; }\r\n", "https://example.org/a?b=1&c=%20", "| a | b |\n|---|---|\n",
  "$\\frac{1}{2}$", "```json\n{\"a\": [1, 2]}\n```", "#include <vector>", "user@example.org", "2024-01-31T12:00:00Z", "3.14159e-10",
  "1,234,567.89", "DON'T they'RE I'm", "McDonald iPhone HTTPServer", "Straße ŒUVRE ﬁn ǅ", "...\n\n\n  ///\n", "々〇〻漢字abc漢ⅳ", "ＡＢＣ漢字かなカナ"];

/// Makes texts from pieces; `special` are texts of added tokens, `pieces` texts of ordinary ones.
export class TextSource {
  constructor(seed, special, pieces) {
    this.random = randomSource(seed);
    this.special = special;
    this.pieces = pieces;
  }
  below = (count) => Math.floor(this.random() * count);
  pick = (list) => list[this.below(list.length)];
  inRange([first, last]) {
    return String.fromCodePoint(first + this.below(last - first + 1));
  }
  repeat = (count, make) => Array.from({ length: 1 + this.below(count) }, make).join("");

  word() {
    const script = this.pick(SCRIPTS);
    const text = this.repeat(9, () => this.inRange(script) + (this.below(12) === 0 ? this.inRange(this.pick(MARKS)) : ""));
    return this.below(4) === 0 ? text[0].toUpperCase() + text.slice(1) : text;
  }
  digits() {
    const script = this.below(3) === 0 ? this.pick(DIGITS) : DIGITS[0];
    return this.repeat(12, () => this.inRange(script));
  }
  kinds = [
    () => this.word(),
    () => this.word(),
    () => this.word() + this.pick(CONTRACTIONS) + this.pick(["", " ", "a"]),
    () => this.digits(),
    () => this.repeat(6, () => this.pick(SPACES)),
    () => this.pick(SPACES).repeat(1 + this.below(20)),
    () => this.repeat(3, () => this.pick(EMOJI)),
    () => this.repeat(5, () => this.pick(PUNCTUATION)),
    () => this.repeat(3, () => this.pick(ODD)),
    () => this.pick(LINES),
    () => this.pick(["a", "0", "=", "-", "ß", "字", "́"]).repeat(1 + this.below(70)),
    () => this.inRange(this.pick(SCRIPTS)) + this.inRange(this.pick(MARKS)) + this.inRange(this.pick(DIGITS)),
    () => this.pick(this.pieces),
    () => this.pick(this.pieces) + this.pick(this.pieces),
    () => (this.special.length > 0 ? this.pick(this.special) : ""),
  ];
  text() {
    const joins = this.pick(["", "", " ", "\n"]);
    return Array.from({ length: 1 + this.below(10) }, () => this.pick(this.kinds)()).join(joins).toWellFormed();
  }
}
