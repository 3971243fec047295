// Validates JSON texts with ajv: reads lines of {"schema", "text"}, writes a line per text with its errors, "" if valid.
import { createInterface } from "node:readline";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const ajv = addFormats(new Ajv2020({ strict: false }));
// ajv-formats requires a dot in the domain and accepts neither quoted names nor address literals; RFC 5321, 4.1.2 and 4.1.3, does.
const NAME = String.raw`[a-z0-9!#$%&'*+/=?^_\`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_\`{|}~-]+)*|"([ !#-[\]-~]|\\[ -~])*"`;
const LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const ADDRESS = String.raw`\[(\d{1,3}(\.\d{1,3}){3}|ipv6:[0-9a-f:.]+)\]`;
ajv.addFormat("email", new RegExp(`^(${NAME})@(${LABEL}(\\.${LABEL})*|${ADDRESS})$`, "i"));

function verdict(schema, text) {
    let value;
    try {
        value = JSON.parse(text);
    } catch (error) {
        return String(error);
    }
    const validate = ajv.compile(schema);
    return validate(value) ? "" : ajv.errorsText(validate.errors);
}

for await (const line of createInterface({ input: process.stdin })) {
    const { schema, text } = JSON.parse(line);
    console.log(JSON.stringify(verdict(schema, text)));
}
