/** An agent that posts JSON to an endpoint of another kind, and reads the text of the answer from its response. */
import type { CreateAgent } from "./create-agent.ts";
import { createRemoteCall, withRemoteFailure } from "./remote-call.ts";

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "http")
    throw new Error(
      'This bundle has the agent "http", but execution.agent names another one. Bundle again.',
    );
  const callRemote = createRemoteCall({ config, dependencies });
  return (task, context) =>
    withRemoteFailure(
      callRemote(
        { body: { prompt: task.text }, accept: "application/json", context },
        async function* (response) {
          yield { type: "answer" as const, text: await response.text() };
        },
      ),
      context,
    );
};
