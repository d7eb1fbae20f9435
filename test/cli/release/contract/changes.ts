/** Changes to a contract, one of each kind: those that break it, with what is to be said of them, and those that do not. */

// biome-ignore lint/suspicious/noExplicitAny: documents are changed in places that their types do not know
type Files = Map<string, any>;
type Change = { name: string; change: (files: Files) => void };

const [oldClient, newClient, oldHost] = [
  "an old client sends it, a new host refuses it",
  "a new host sends it, an old client refuses it",
  "an old host sends it, a new client refuses it",
];

const schema = (files: Files, name: string) => files.get(`schemas/${name}.json`);
const params = (files: Files, name = "execute_task") => schema(files, `${name}.params`);
const variants = (files: Files) => schema(files, "get_task.result").oneOf;
const errors = (files: Files) => files.get("openrpc.json").components.errors;

export const breaking: (Change & { found: string[] })[] = [
  {
    name: "a method less",
    change: (files) => files.get("openrpc.json").methods.splice(1, 1),
    found: ["get_task: the method is gone"],
  },
  {
    name: "params in another structure",
    change: (files) => Object.assign(files.get("openrpc.json").methods[2], { paramStructure: "by-position" }),
    found: ["cancel_task: the method is gone"],
  },
  {
    name: "a schema less",
    change: (files) => files.delete("schemas/error.json"),
    found: ["error: the schema is gone"],
  },
  {
    name: "a param that must be there now",
    change: (files) => params(files).required.push("team_id"),
    found: [`execute_task.params/team_id: must be there (${oldClient})`],
  },
  {
    name: "a new param that must be there",
    change: (files) => {
      params(files).properties.tenant = { type: "string" };
      params(files).required.push("tenant");
    },
    found: [`execute_task.params/tenant: must be there (${oldClient})`],
  },
  {
    name: "a param less",
    change: (files) => delete params(files).properties.callback,
    found: ["execute_task.params/callback: the param is gone"],
  },
  {
    name: "a field of attachments less",
    change: (files) => delete params(files).properties.attachments.items.properties.sha256,
    found: ["execute_task.params/attachments/*/sha256: the param is gone"],
  },
  {
    name: "a param of another type",
    change: (files) => Object.assign(params(files).properties.callback, { type: "string" }),
    found: [`execute_task.params/callback: is to be string, not boolean (${oldClient})`],
  },
  {
    name: "whole numbers where any were taken",
    change: (files) => Object.assign(variants(files)[1].properties.progress.properties.percent, { type: "integer" }),
    found: [`get_task.result/progress/percent: is to be integer, not number (${oldHost})`],
  },
  {
    name: "a shorter text",
    change: (files) => Object.assign(params(files).properties.text, { maxLength: 4000 }),
    found: [`execute_task.params/text: maxLength is 4000, against 40000 (${oldClient})`],
  },
  {
    name: "a limit where there was none",
    change: (files) => Object.assign(params(files).properties.session_id, { maxLength: 64 }),
    found: [`execute_task.params/session_id: maxLength is 64, against none (${oldClient})`],
  },
  {
    name: "a higher minimum",
    change: (files) => Object.assign(params(files).properties.timeout_ms, { minimum: 1000 }),
    found: [`execute_task.params/timeout_ms: minimum is 1000, against 1 (${oldClient})`],
  },
  {
    name: "fewer attachments",
    change: (files) => Object.assign(params(files).properties.attachments, { maxItems: 5 }),
    found: [`execute_task.params/attachments: maxItems is 5, against 20 (${oldClient})`],
  },
  {
    name: "another pattern",
    change: (files) => Object.assign(params(files).properties.thread_ts, { pattern: "^\\d+$" }),
    found: [`execute_task.params/thread_ts: must fit another pattern, ^\\d+$ (${oldClient})`],
  },
  {
    name: "a value of an enum less",
    change: (files) => Object.assign(params(files).properties.history.items.properties.role, { enum: ["user"] }),
    found: [`execute_task.params/history/*/role: may not be "assistant" (${oldClient})`],
  },
  {
    name: "an enum where any text was taken",
    change: (files) => Object.assign(params(files, "cancel_task").properties.reason, { enum: ["user"] }),
    found: [`cancel_task.params/reason: may only be one of "user" (${oldClient})`],
  },
  {
    name: "unknown params refused",
    change: (files) => Object.assign(params(files, "answer_task"), { additionalProperties: false }),
    found: [`answer_task.params/*: is refused (${oldClient})`],
  },
  {
    name: "a condition more",
    change: (files) => Object.assign(params(files, "answer_task"), { anyOf: [{ required: ["text"] }] }),
    found: [`answer_task.params/text: must be there (${oldClient})`],
  },
  {
    name: "variants that may overlap",
    change: (files) => params(files, "get_task").oneOf.push({ required: ["wait_ms"] }),
    found: [`get_task.params: has other variants, which may overlap (${oldClient})`],
  },
  {
    name: "a keyword that is not known",
    change: (files) => Object.assign(params(files), { dependentRequired: { history: ["session_id"] } }),
    found: [`execute_task.params: has another "dependentRequired", which this comparison cannot judge (${oldClient})`],
  },
  {
    name: "another meaning of what is left out",
    change: (files) => Object.assign(schema(files, "response").anyOf[1].properties.id, { default: "none" }),
    found: [
      `response/id: means null where it is left out, not "none" (${newClient})`,
      `response/id: means "none" where it is left out, not null (${oldHost})`,
    ],
  },
  {
    name: "a field of a result that may be absent now",
    change: (files) => Object.assign(variants(files)[0], { required: ["status"] }),
    found: [`get_task.result/response_text: must be there (${newClient})`],
  },
  {
    name: "a field of a result less",
    change: (files) => delete variants(files)[0].properties.usage,
    found: ["get_task.result/usage: the field is gone (an old host sends it, a new client ignores it)"],
  },
  {
    name: "a field of a result that old hosts do not send, and must",
    change: (files) => variants(files)[0].required.push("correlation_id"),
    found: [`get_task.result/correlation_id: must be there (${oldHost})`],
  },
  {
    name: "a variant of a result that old clients do not know",
    change: (files) =>
      variants(files).push({ type: "object", properties: { status: { const: "queued" } }, required: ["status"] }),
    found: [
      `get_task.result/response_text: must be there (${newClient})`,
      `get_task.result/status: may not be "queued" (${newClient})`,
    ],
  },
  {
    name: "a variant of a result less",
    change: (files) => variants(files).pop(),
    found: [`get_task.result/status: may not be "input_required" (${oldHost})`],
  },
  {
    name: "a longer text of a result than old clients take",
    change: (files) =>
      Object.assign(variants(files)[1].properties.progress.properties.partial_text, { maxLength: 40_000 }),
    found: [`get_task.result/progress/partial_text: maxLength is 12000, against 40000 (${newClient})`],
  },
  {
    name: "results with nothing but known fields",
    change: (files) => Object.assign(schema(files, "cancel_task.result"), { additionalProperties: false }),
    found: [`cancel_task.result/*: is refused (${oldHost})`],
  },
  {
    name: "a reason less",
    change: (files) => delete errors(files).plan_error,
    found: ["error plan_error: the reason is gone (an old host sends it)"],
  },
  {
    name: "another number of a reason",
    change: (files) => Object.assign(errors(files).canceled, { code: -32077 }),
    found: ["error canceled: its code is -32077, and was -32076"],
  },
  {
    name: "a reason that is retried now",
    change: (files) => Object.assign(errors(files).timeout.data, { retryable: true }),
    found: ["error timeout: whether it may be retried has changed"],
  },
  {
    name: "a new reason with the number of another one",
    change: (files) => Object.assign(errors(files), { late: { code: -32001, data: { reason: "late" } } }),
    found: ["error late: its code -32001 is one that an old client reads as timeout"],
  },
];

export const compatible: Change[] = [
  {
    name: "a new param that may be left out",
    change: (files) => (params(files).properties.tenant = { type: "string" }),
  },
  { name: "a param that may be left out now", change: (files) => Object.assign(params(files), { required: ["text"] }) },
  { name: "a longer text", change: (files) => Object.assign(params(files).properties.text, { maxLength: 80_000 }) },
  { name: "a limit less", change: (files) => delete params(files).properties.attachments.maxItems },
  { name: "a lower minimum", change: (files) => Object.assign(params(files).properties.timeout_ms, { minimum: 0 }) },
  {
    name: "any text where a pattern was asked for",
    change: (files) => delete params(files).properties.thread_ts.pattern,
  },
  {
    name: "a value of an enum more, in params",
    change: (files) => params(files).properties.history.items.properties.role.enum.push("tool"),
  },
  {
    name: "another type beside the one of before, in params",
    change: (files) => Object.assign(params(files).properties.callback, { type: ["boolean", "string"] }),
  },
  { name: "a condition less", change: (files) => delete params(files).anyOf },
  { name: "other words", change: (files) => Object.assign(params(files).properties.channel, { description: "Where" }) },
  { name: "no title", change: (files) => Object.assign(params(files), { title: "Params" }) },
  {
    name: "a new field of a result that may be absent",
    change: (files) => (variants(files)[0].properties.model = { type: "string" }),
  },
  {
    name: "a new method",
    change: (files) => {
      files.get("openrpc.json").methods.push({ name: "list_tasks", paramStructure: "by-name", params: [] });
      files.set("schemas/list_tasks.params.json", { type: "object" });
    },
  },
  {
    name: "a new reason with a number of its own",
    change: (files) => {
      Object.assign(errors(files), { too_late: { code: -32078, data: { reason: "too_late", retryable: false } } });
      schema(files, "error.data").properties.reason.enum.push("too_late");
    },
  },
  { name: "another message", change: (files) => Object.assign(errors(files).timeout, { message: "Too slow." }) },
];
