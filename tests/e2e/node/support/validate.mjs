// Judges JSON texts by their schemas with ajv: lines of {"schema", "text"} in, lines of what is wrong out, "" for nothing.
import { createInterface } from "node:readline";
import Ajv2020 from "ajv/dist/2020.js";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

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
