/** The agent as a module of its own beside the handler. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { CreateAgent } from "./create-agent.ts";

/**
 * The agent of `agent.cjs` in the folder of the handler. The module is loaded when the agent is created, so that a process
 * that runs no task, such as a health check, does not load it. The module has classes of its own: of these only
 * `SekishoError` is recognized on both sides.
 */
export function bundledAgent(directory: string): CreateAgent {
  return (dependencies) => {
    const load = createRequire(join(directory, "index.js"));
    const { createAgent }: { createAgent: CreateAgent } = load("./agent.cjs");
    return createAgent(dependencies);
  };
}
