/** The replies of all scripted models. A real one would need an account, and answers in other words every time. */

/** The call of a model, in the terms of no framework. `toolResult` is the last result of a tool. */
type Turn = { text: string; files: readonly string[]; toolResult: string | undefined };

/** The model's next step: a text in chunks, or the call of a tool. */
type Reply =
  | { words: readonly string[]; call?: undefined }
  | { call: { name: string; args: { about: string } } };

export const numbers = Array.from({ length: 20 }, (_, index) => `${index + 1} `);

/** Rejects for "failure", and never resolves for "cancel". */
export async function reply({ text, files, toolResult }: Turn): Promise<Reply> {
  switch (text) {
    case "hello":
      return { words: ["Hello, ", "Slack."] };
    case "tokens":
      return { words: numbers };
    case "tool":
      if (toolResult === undefined) return { call: { name: "look_up", args: { about: "Tokyo" } } };
      return { words: ["It is ", toolResult, "."] };
    case "question":
      if (toolResult === undefined)
        return { call: { name: "delete_file", args: { about: "/a.txt" } } };
      return { words: [toolResult] };
    case "file":
      return { words: ["Read ", files.join(", ")] };
    case "cancel":
      return new Promise(() => {});
    case "failure":
      throw new Error("the model is away");
    default:
      return { words: ["What?"] };
  }
}

/** The tools of every agent. The second one needs an approval where the framework has such. */
export const toolResults = { look_up: "31 degrees", delete_file: "The file is gone." } as const;
