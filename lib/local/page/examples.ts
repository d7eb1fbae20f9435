/** The examples that the local page offers, so that a first message needs no idea. */
import { isOwnExecution } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { Prompt } from "../web/local-events.ts";

const echoTexts = [
  ...["What is a sekisho?", "progress", "ask me", "ask form", "ask sign-in", "long", "file"],
  ...["stream", "fail"],
];

type ExampleConfig = Pick<Config, "destinations" | "execution" | "routes" | "slack">;

/** Words that the echo agent understands. For any other agent the prompts of the configuration, or none. */
export function listExamples(config: ExampleConfig): readonly Prompt[] {
  const { destinations, execution, routes, slack } = config;
  const isEcho =
    execution.agent === "echo" &&
    routes.some(({ destination }) =>
      destination.some((name) => {
        const target = destinations[name];
        return target !== undefined && isOwnExecution(target);
      }),
    );

  if (isEcho) return echoTexts.map((text) => ({ title: text, message: text }));
  return slack.assistant?.prompts ?? [];
}
