/** The tools that the model may call. Replace these with your own. */

type Tool = {
  description: string;
  /** A JSON Schema of the arguments. */
  parameters: object;
  /** The arguments are what the model wrote: check them as you would check a stranger's. */
  run(args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
};

/** Stands for a database or a search. */
const handbook: Readonly<Record<string, string>> = {
  vacation: "Ask your lead two weeks ahead. There are 30 days a year.",
  expenses: "Send receipts to the office by the end of the month.",
  "on-call": "The rota changes on Mondays at 10:00.",
};

const byName: Readonly<Record<string, Tool>> = {
  current_time: {
    description: "Returns the current date and time in a time zone.",
    parameters: {
      type: "object",
      properties: {
        time_zone: { type: "string", description: "an IANA name, such as Europe/Berlin" },
      },
      required: ["time_zone"],
      additionalProperties: false,
    },
    async run({ time_zone: timeZone }) {
      const format = new Intl.DateTimeFormat("en-GB", {
        dateStyle: "full",
        timeStyle: "long",
        timeZone: String(timeZone),
      });
      return format.format(new Date());
    },
  },
  look_up: {
    description: `Reads one topic of the team's handbook. Topics: ${Object.keys(handbook).join(", ")}.`,
    parameters: {
      type: "object",
      properties: { topic: { type: "string", enum: Object.keys(handbook) } },
      required: ["topic"],
      additionalProperties: false,
    },
    async run({ topic }) {
      return Object.hasOwn(handbook, String(topic))
        ? handbook[String(topic)]
        : "There is no such topic.";
    },
  },
};

/** As chat completions want them. */
export const tools = Object.entries(byName).map(([name, { description, parameters }]) => {
  return { type: "function", function: { name, description, parameters } } as const;
});

/** Resolves to a text for the model. A mistake of the model is told to it, so that it can try again. Rejects only when the task is over. */
export async function callTool(call: {
  name: string;
  arguments: string;
  signal: AbortSignal;
}): Promise<string> {
  const { name, signal } = call;
  signal.throwIfAborted();
  const tool = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (tool === undefined) return "Error: there is no such tool.";
  try {
    const args: unknown = JSON.parse(call.arguments === "" ? "{}" : call.arguments);
    return JSON.stringify(await tool.run(Object(args), signal));
  } catch (error) {
    signal.throwIfAborted();
    return `Error: ${error instanceof SyntaxError || error instanceof RangeError ? error.message : "the tool failed."}`;
  }
}
