/**
 * docs/contract.md against the contract: its tables have the contract's fields, and its examples are messages of the contract. Its reasons and
 * numbers are held by test/contracts/dialects.test.ts.
 */
import { describe, expect, it } from "@jest/globals";
import { completionSchema } from "../../contracts/completion.ts";
import { dialectSchema, listErrorCodes } from "../../contracts/dialects.ts";
import { requestSchema, responseSchema } from "../../contracts/envelope.ts";
import { errorDataSchema } from "../../contracts/error-data.ts";
import { SekishoError } from "../../contracts/errors.ts";
import { legacyErrorResultSchema, type MethodName, methods } from "../../contracts/methods.ts";
import { buildOpenRpc } from "../../contracts/openrpc.ts";
import { blocksIn, sectionOf, tablesIn, textOf } from "./commands/documented.ts";

const page = textOf("docs/contract.md");
const { components, methods: described } = buildOpenRpc();
type Fields = { properties: Record<string, unknown>; required?: string[] };
const component = (name: string) => components.schemas[name] as Fields;

/** The names of a row: `name`, `mimetype` are two. */
const namesOf = (cell = "") => cell.split(", ").map((name) => name.replaceAll("`", ""));

type Field = { name: string; required: boolean };
const fieldsOf = (rows: string[][] = []): Field[] =>
  rows.flatMap(([names, , required]) => namesOf(names).map((name) => ({ name, required: required === "yes" })));
const byName = (fields: Field[]) => [...fields].sort((a, b) => (a.name < b.name ? -1 : 1));
const fieldsOfSchema = ({ properties, required = [] }: Fields) =>
  Object.keys(properties).map((name) => ({ name, required: required.includes(name) }));

describe("the tables of docs/contract.md", () => {
  it("list the methods", () => {
    const [rows = []] = tablesIn(sectionOf(page, "## Methods"));
    expect(rows.flatMap(([name]) => namesOf(name))).toEqual(Object.keys(methods));
  });

  it.each(described.filter(({ params }) => (params as unknown[]).length > 0))(
    "list the params of $name",
    ({ name, params }) => {
      const [rows] = tablesIn(sectionOf(page, `### \`${name}\``));
      const wanted = (params as Field[]).map((param) => ({ name: param.name, required: param.required }));
      expect(byName(fieldsOf(rows))).toEqual(byName(wanted));
    },
  );

  it.each([
    ["### `execute_task`", 1, "Attachment"],
    ["### `execute_task`", 2, "HistoryItem"],
    ["### `success`", 0, "SuccessResult"],
    ["### `success`", 1, "Artifact"],
    ["### `accepted`", 0, "AcceptedResult"],
    ["### `input_required`", 0, "InputRequiredResult"],
    ["### `canceled`", 0, "CancelResult"],
  ])("%s, table %d: list the fields of %s", (heading, index, name) => {
    const rows = tablesIn(sectionOf(page, heading))[index];
    expect(byName(fieldsOf(rows))).toEqual(byName(fieldsOfSchema(component(name))));
  });

  it("list the data of an error", () => {
    const [rows = []] = tablesIn(sectionOf(page, "### Data of an error"));
    expect(rows.flatMap(([names]) => namesOf(names)).sort()).toEqual(Object.keys(errorDataSchema.shape).sort());
  });

  it("list the dialects", () => {
    const [rows = []] = tablesIn(sectionOf(page, "### Dialects"));
    expect(rows.flatMap(([names]) => namesOf(names))).toEqual(dialectSchema.options);
  });
});

describe("the examples of docs/contract.md", () => {
  const examples = blocksIn(page, "json").map((text) => JSON.parse(text));
  const requests = examples.filter((example) => "method" in example);

  it("are requests of every method", () => {
    expect(requests.map(({ method }) => method)).toEqual(Object.keys(methods));
    for (const request of requests) {
      expect(requestSchema.safeParse(request)).toMatchObject({ success: true });
      expect(methods[request.method as MethodName].params.safeParse(request.params)).toMatchObject({ success: true });
    }
  });

  it("are responses to them, of every status", () => {
    const responses = examples.filter((example) => "result" in example || "error" in example);
    const statuses = new Set<string>();
    for (const response of responses) {
      expect(responseSchema.safeParse(response)).toMatchObject({ success: true });
      const { method } = requests.find(({ id }) => id === response.id);
      if (response.error !== undefined) {
        const { code, message, data } = response.error;
        const { reason } = errorDataSchema.parse(data);
        expect(listErrorCodes({ reason, dialect: "zone" })).toContain(code);
        expect(message).toBe(new SekishoError(reason).message);
        continue;
      }
      statuses.add(response.result.status);
      const schema =
        response.result.status === "error" ? legacyErrorResultSchema : methods[method as MethodName].result;
      expect(schema.safeParse(response.result)).toMatchObject({ success: true });
    }
    expect([...statuses].sort()).toEqual(["accepted", "error", "input_required", "success"]);
  });

  it("are a completion push, and nothing else", () => {
    const others = examples.filter((example) => !("jsonrpc" in example));
    expect(others.map((example) => completionSchema.safeParse(example).success)).toEqual([true]);
  });
});
