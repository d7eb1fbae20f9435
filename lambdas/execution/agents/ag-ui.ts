/** An agent that calls an endpoint of AG-UI 1.0. */
import type { CreateAgent } from "./create-agent.ts";
import { createRemoteCall, withRemoteFailure } from "./remote-call.ts";

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "ag-ui")
    throw new Error(
      'This bundle has the agent "ag-ui", but execution.agent names another one. Bundle again.',
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
