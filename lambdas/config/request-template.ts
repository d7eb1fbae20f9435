/** The placeholders of a request's template, such as {text}. Imports no schema, because agents in a bundle fill templates. */

/** Each with what replaces it. */
export const placeholders = {
  text: "the message",
  messages: "the thread and the message, as a list of {role, content}",
  history: "the thread without the message, as such a list",
  session: "an id of the conversation, the same for all its messages",
  conversation:
    "what an earlier response of the conversation had at the path conversation; at first an empty text",
  user: "the person's id in Slack",
  channel: "the channel's id",
  team: "the workspace's id",
  task_id: "the task's id",
  files: "the files of the message, as a list of {name, mimetype, size, url}",
  data: "what an A2A client sent as data, as a list",
  reply: "the answer to the latest question",
} as const;
export type PlaceholderValues = Readonly<Partial<Record<keyof typeof placeholders, unknown>>>;

const anyPlaceholder = /\{([a-z_]+)\}/g;
const onlyPlaceholder = /^\{([a-z_]+)\}$/;

/** The names in all texts of the template, with those that do not exist. */
export function listPlaceholders(template: unknown): string[] {
  if (typeof template === "string")
    return [...template.matchAll(anyPlaceholder)].map(([, name = ""]) => name);
  return Object.values(Object(template)).flatMap(listPlaceholders);
}

/**
 * A text that is one placeholder becomes its value; undefined leaves out a member. Within a longer text, a value that is no text is written
 * as JSON. Placeholders in the values stay as they are.
 */
export function fillTemplate(template: unknown, values: PlaceholderValues): unknown {
  const valueByName = new Map<string | undefined, unknown>(Object.entries(values));
  if (typeof template === "string") {
    const [, name] = onlyPlaceholder.exec(template) ?? [];
    return name === undefined
      ? template.replace(anyPlaceholder, (_, each) => toText(valueByName.get(each)))
      : valueByName.get(name);
  }
  if (Array.isArray(template)) return template.map((item) => fillTemplate(item, values));
  if (typeof template !== "object" || template === null) return template;
  const members = Object.entries(template);
  return Object.fromEntries(members.map(([name, value]) => [name, fillTemplate(value, values)]));
}

/** The value within a longer text. */
export function toText(value: unknown = ""): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
