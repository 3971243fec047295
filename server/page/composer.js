// The field for the next message, with files, the gauge of the context, and send or stop.

import { debounce, h, icon, iconButton, replace } from "./dom.js";
import { bytes, count } from "./format.js";
import { strings } from "./strings.js";

const fileBytesMax = 1_000_000;
const gaugeDelay_ms = 400;

/// Returns {name, text}, or a sentence that says why the file cannot be read.
async function readFile(file) {
  if (file.type.startsWith("image/")) return strings.noImages(file.name);
  if (file.size > fileBytesMax) return strings.fileTooLarge(file.name, bytes(fileBytesMax));
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? strings.notText(file.name) : { name: file.name, text };
  } catch {
    return strings.notText(file.name);
  }
}

/// `onSend(text, files)`; `onStop()`; `countTokens(text, files)`: a promise of {used, context}, or of null if they are unknown.
export function composer({ onSend, onStop, countTokens }) {
  let files = [];
  let isRunning = false;
  let counted = 0;
  const field = h("textarea", { rows: 1, dir: "auto", placeholder: strings.composerHint, "aria-label": strings.composerLabel });
  const chips = h("ul", { class: "files" });
  const notice = h("p", { class: "note bad", role: "alert" });
  const gauge = h("span", { class: "note gauge", dir: "ltr" });
  const meter = h("span", { class: "meter", hidden: true }, h("span"));
  const picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => { addFiles([...picker.files]); picker.value = ""; } });
  const action = h("button", { class: "primary send", type: "submit" });
  const element = h("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); act(); } },
    notice, chips, field, h("div", { class: "row" },
      iconButton("attach", strings.attach, () => picker.click()), picker, h("span", { class: "measure" }, meter, gauge), action));

  function fit() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, Math.floor(innerHeight / 3))}px`;
  }

  function showAction() {
    replace(action, icon(isRunning ? "stop" : "send"), h("span", { class: "hidden-label" }, isRunning ? strings.stop : strings.send));
    action.title = isRunning ? strings.stop : strings.send;
    action.disabled = !isRunning && field.value.trim() === "" && files.length === 0;
  }

  const measure = debounce(async () => {
    const round = ++counted;
    const found = await countTokens(field.value, files).catch(() => null);
    if (round !== counted) return;
    meter.hidden = !found?.context;
    gauge.classList.remove("bad");
    if (found === null) return replace(gauge);
    const share = found.context ? Math.min(1, found.used / found.context) : 0;
    meter.firstChild.style.width = `${100 * share}%`;
    const isTooLong = found.context && found.used >= found.context;
    gauge.classList.toggle("bad", Boolean(isTooLong));
    replace(gauge, isTooLong ? strings.tooLong(count(found.used), count(found.context))
      : strings.tokens(count(found.used), found.context && count(found.context)));
  }, gaugeDelay_ms);

  function changed() {
    fit();
    showAction();
    measure();
  }

  function showFiles() {
    replace(chips, files.map((file) => h("li", {}, h("span", { dir: "auto" }, file.name), h("span", { class: "note" }, bytes(file.text.length)),
      iconButton("close", strings.removeFile(file.name), () => { files = files.filter((one) => one !== file); showFiles(); }))));
    changed();
  }

  async function addFiles(given) {
    const read = await Promise.all(given.map(readFile));
    files = [...files, ...read.filter((one) => typeof one !== "string")];
    replace(notice, read.filter((one) => typeof one === "string").join(" "));
    showFiles();
  }

  function act() {
    if (isRunning) return onStop();
    const text = field.value;
    if (text.trim() === "" && files.length === 0) return;
    const sent = files;
    clear();
    onSend(text, sent);
  }

  function clear() {
    field.value = "";
    files = [];
    replace(notice);
    showFiles();
  }

  field.addEventListener("input", changed);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!isRunning) act();
  });
  field.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addFiles([...event.clipboardData.files]);
  });
  showAction();
  requestAnimationFrame(fit);
  return { element, addFiles, measure, focus: () => field.focus(),
    fill(text) { field.value = text; changed(); field.focus(); },
    setRunning(value) { if (value !== isRunning) { isRunning = value; showAction(); } } };
}
