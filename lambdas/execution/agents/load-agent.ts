/** Loads the agent that the configuration names. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import type { AgentConfig } from "../../shared/config/schema.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import type { Agent } from "./agent.ts";
import { createEchoAgent } from "./echo.ts";

/**
 * A file of the user's own is looked for from `cwd` on and must export a function `agent`; whatever is wrong with it is
 * an error that says what to do. `importFile` takes a file URL.
 */
export async function loadAgent({
  agent,
  cwd,
  readSecret,
  importFile = (url) => import(url),
}: {
  agent: AgentConfig;
  cwd: string;
  readSecret: (reference: SecretReference) => Promise<string>;
  importFile?: (url: string) => Promise<unknown>;
}): Promise<Agent> {
  if (agent === "echo") return createEchoAgent();
  if (typeof agent === "string") return fromFile({ file: resolve(cwd, agent), importFile });
  // The SDK is loaded by those who ask for it.
  const { createAgent } = await (agent.type === "bedrock" ? import("./bedrock.ts") : import("./openai-compatible.ts"));
  return createAgent({ config: agent, readSecret, region: undefined });
}

async function fromFile({
  file,
  importFile,
}: {
  file: string;
  importFile: (url: string) => Promise<unknown>;
}): Promise<Agent> {
  const loaded = await importFile(pathToFileURL(file).href).catch((cause: unknown) => {
    throw new Error(`The agent file ${file} ${problemOf({ cause, file })}`, { cause });
  });
  const agent = typeof loaded === "object" && loaded !== null && "agent" in loaded ? loaded.agent : undefined;
  if (typeof agent !== "function") {
    throw new Error(
      `The agent file ${file} does not export a function "agent". See examples/agent.ts for one that does.`,
    );
  }
  return agent as Agent;
}

/** Whether the file itself is missing, or its own code, or what it imports, is at fault. */
function problemOf({ cause, file }: { cause: unknown; file: string }): string {
  if (!existsSync(file)) return "does not exist. The path counts from the directory of the configuration.";
  return `could not be loaded: ${types.isNativeError(cause) ? cause.message : String(cause)}`;
}
