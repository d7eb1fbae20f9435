/** The source of a function's entry, written at synth: its factory, the stage's configuration, and the agent that it runs. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../../lambdas/shared/config/load.ts";
import type { AgentConfig, Config } from "../../lambdas/shared/config/schema.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";

export const bundleNames = [
  "ingress",
  "worker",
  "deadLetters",
  "installFlow",
  "executionUrl",
  "executionWorker",
  "agentcore",
  "container",
] as const;
export type BundleName = (typeof bundleNames)[number];

export const projectDirectory = join(import.meta.dirname, "../..");

/** `config` is the stage's own (`stageConfig`); a path of the agent counts from `configDirectory`. */
export function entrySource({
  name,
  config,
  configDirectory,
}: {
  name: BundleName;
  config: Config;
  configDirectory: string;
}): string {
  const agent = () => agentSource({ agent: config.execution.agent, configDirectory });
  const settings = `const config = ${JSON.stringify(config)};`;
  switch (name) {
    case "ingress":
      return `export { handler } from ${path("lambdas/verification/ingress/lambda.ts")};`;
    case "worker":
      return lines(
        `import { createWorkerHandler } from ${path("lambdas/verification/worker/lambda.ts")};`,
        settings,
        "export const handler = createWorkerHandler({ config });",
      );
    case "deadLetters":
      return lines(
        `import { createDeadLetterHandler } from ${path("lambdas/verification/worker/dead-letter-lambda.ts")};`,
        settings,
        "export const handler = createDeadLetterHandler({ config });",
      );
    case "installFlow": {
      const { slack, files, allowlist, destinations } = config;
      return lines(
        `import { createOauthHandler } from ${path("lambdas/verification/oauth/lambda.ts")};`,
        `const config = ${JSON.stringify({ slack, files, allowlist, destinations })};`,
        "export const handler = createOauthHandler({ config });",
      );
    }
    case "executionUrl":
      return lines(
        `import { createUrlHandler } from ${path("lambdas/execution/lambda-url.ts")};`,
        settings,
        "export const handler = createUrlHandler({ config });",
      );
    case "executionWorker":
      return lines(
        `import { createExecutionWorkerHandler } from ${path("lambdas/execution/lambda-worker.ts")};`,
        agent(),
        settings,
        "export const handler = createExecutionWorkerHandler({ config, createAgent });",
      );
    case "agentcore":
      return lines(
        `import { startAgentCore } from ${path("lambdas/execution/agentcore.ts")};`,
        agent(),
        settings,
        "void startAgentCore({ config, createAgent });",
      );
    case "container":
      return lines(
        `import { runContainer } from ${path("lambdas/execution/container.ts")};`,
        agent(),
        // An image gets nothing of what is the Verification zone's.
        `const config = ${JSON.stringify({ execution: config.execution, telemetry: config.telemetry, destinations: {}, routes: [] })};`,
        "void runContainer({ config, createAgent });",
      );
  }
}

/** Declares `createAgent`. Only the configured agent is imported, so that a bundle holds no other. */
function agentSource({ agent, configDirectory }: { agent: AgentConfig; configDirectory: string }): string {
  if (agent === "echo") {
    return lines(
      `import { createEchoAgent } from ${path("lambdas/execution/agents/echo.ts")};`,
      "const createAgent = () => createEchoAgent();",
    );
  }
  if (typeof agent === "string") {
    const file = resolve(configDirectory, agent);
    if (!existsSync(file)) throw new ConfigError("The agent", [`${file} does not exist; execution.agent names it`]);
    return lines(`import { agent } from ${JSON.stringify(file)};`, "const createAgent = () => agent;");
  }
  if (agent.type === "bedrock") {
    const { type: _type, ...options } = agent;
    return lines(
      `import { createBedrockAgent } from ${path("lambdas/execution/agents/bedrock.ts")};`,
      `const createAgent = ({ region }) => createBedrockAgent({ region, ...${JSON.stringify(options)} });`,
    );
  }
  const { type: _type, apiKey, ...options } = agent;
  return lines(
    `import { createOpenAiCompatibleAgent } from ${path("lambdas/execution/agents/openai-compatible.ts")};`,
    `const createAgent = ({ readSecret }) => createOpenAiCompatibleAgent({ ...${JSON.stringify(options)}${keySource(apiKey)} });`,
  );
}

function keySource(apiKey: SecretReference | undefined): string {
  return apiKey === undefined ? "" : `, apiKey: () => readSecret(${JSON.stringify(apiKey)})`;
}

function path(file: string): string {
  return JSON.stringify(join(projectDirectory, file));
}

function lines(...parts: string[]): string {
  return parts.join("\n");
}
