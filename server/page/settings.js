// The settings of a conversation: system prompt, sampling, thinking, schema, tools.

import { h, openDialog, replace } from "./dom.js";
import { strings } from "./strings.js";

const numbers = [["temperature", strings.temperature, 0, 5, "any"], ["top_p", strings.topP, 0, 1, "any"], ["top_k", strings.topK, 0, null, 1],
  ["min_p", strings.minP, 0, 1, "any"], ["seed", strings.seed, 0, null, 1], ["max_output_tokens", strings.maxTokens, 1, null, 1],
  ["thinking_budget", strings.thinkingBudget, 0, null, 1]];

/// Returns why a text is not JSON of the wanted kind, or "".
function jsonProblem(text, isWanted, wanted) {
  if (text.trim() === "") return "";
  try {
    return isWanted(JSON.parse(text)) ? "" : wanted;
  } catch (error) {
    return strings.invalidJson(error.message);
  }
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function labelled(label, control, hint, className) {
  return h("div", { class: className }, h("label", {}, label, control), hint);
}

function jsonField(name, settings, label, hint, isWanted, wanted) {
  const problem = h("p", { class: "note" }, hint);
  const field = h("textarea", { class: "code", rows: 5, spellcheck: "false", dir: "ltr", value: settings[name] ?? "", oninput: () => {
    const found = jsonProblem(field.value, isWanted, wanted);
    field.setCustomValidity(found);
    problem.classList.toggle("bad", found !== "");
    replace(problem, found || hint);
  } });
  return { name, field, element: labelled(label, field, problem, "wide") };
}

/// Opens the dialog; `onChange(settings)` is called when it is done.
export function openSettings(settings, onChange) {
  const fields = [];
  const add = (made) => { fields.push(made); return made.element; };
  const system = h("textarea", { rows: 3, dir: "auto", value: settings.system ?? "" });
  const thinking = h("select", {}, [["", strings.thinkDefault], ["on", strings.thinkOn], ["off", strings.thinkOff]].map(([value, label]) =>
    h("option", { value }, label)));
  thinking.value = settings.thinking ?? "";
  const form = h("form", { method: "dialog", onsubmit: () => {
    const next = { ...settings };
    for (const { name, field } of fields) next[name] = field.value;
    onChange(next);
  } }, h("p", { class: "note" }, strings.settingsHint), h("div", { class: "fields" },
    add({ name: "system", field: system, element: labelled(strings.system, system, null, "wide") }),
    numbers.map(([name, label, min, max, step]) => {
      const field = h("input", { type: "number", min, max, step, inputmode: "decimal", value: settings[name] ?? "" });
      return add({ name, field, element: labelled(label, field) });
    }),
    add({ name: "thinking", field: thinking, element: labelled(strings.think, thinking) }),
    add(jsonField("schema", settings, strings.schema, strings.schemaHint, isObject, strings.notAnObject)),
    add(jsonField("tools", settings, strings.tools, strings.toolsHint, Array.isArray, strings.notAList))),
  h("div", { class: "actions" },
    h("button", { type: "button", class: "outlined", onclick: () => { for (const { field } of fields) { field.value = ""; field.dispatchEvent(new Event("input")); } } }, strings.reset),
    h("button", { class: "primary" }, strings.done)));
  openDialog(strings.settings, form);
}
