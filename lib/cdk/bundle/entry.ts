/** The bundles: the entry of each, and what lies beside it in its asset. */
import { join } from "node:path";
import type { Config } from "../../../lambdas/shared/config/schema.ts";

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

export const projectDirectory = join(import.meta.dirname, "../../..");

/** Written beside the handler; `lambdas/shared/config/aws-environment.ts` reads it. */
export const configFileName = "config.json";
/**
 * Written beside a handler that runs tasks; `lambdas/execution/agents/create-agent.ts` loads it. By this extension it is
 * CommonJS in every folder, also below a package.json that says "module".
 */
export const agentFileName = "agent.cjs";

type CutConfig = Partial<Omit<Config, "execution">> & { execution?: Partial<Config["execution"]> };
type Entry = {
  /** The file that exports the handler, or starts the process. */
  source: string;
  /** Its name in the asset: Lambda looks for index.js, the AgentCore runtime starts server.js. */
  fileName: string;
  target: string;
  /** The sections of the configuration that it is given; without it, none. */
  cutConfig?: (config: Config) => CutConfig;
  runsAgent?: true;
  /** Modules that nothing in the bundle runs, but that keep esbuild from cutting away others because they are imported dynamically. */
  unused?: readonly string[];
};

/** The SDK's signer imports an index from which HTTP protocols can be had, and these load event streams. Only the signer is used. */
const besideSigner = ["@smithy/core/event-streams"];

const onLambda = { fileName: "index.js", target: "node24" };

export const entries: Record<BundleName, Entry> = {
  ingress: {
    ...onLambda,
    source: "lambdas/verification/handlers/ingress.ts",
    unused: besideSigner,
  },
  worker: { ...onLambda, source: "lambdas/verification/handlers/worker.ts", cutConfig: verificationConfig },
  deadLetters: { ...onLambda, source: "lambdas/verification/handlers/dead-letters.ts", cutConfig: verificationConfig },
  installFlow: {
    ...onLambda,
    source: "lambdas/verification/handlers/install-flow.ts",
    unused: besideSigner,
    cutConfig: ({ slack, files, allowlist, destinations }) => ({ slack, files, allowlist, destinations }),
  },
  executionUrl: { ...onLambda, source: "lambdas/execution/handlers/function-url.ts", cutConfig: executionConfig },
  executionWorker: {
    ...onLambda,
    source: "lambdas/execution/handlers/worker.ts",
    cutConfig: executionConfig,
    runsAgent: true,
  },
  agentcore: {
    source: "lambdas/execution/handlers/agentcore.ts",
    fileName: "server.js",
    // AgentCore runs no newer Node than 22.
    target: "node22",
    cutConfig: executionConfig,
    runsAgent: true,
  },
  container: {
    source: "lambdas/execution/handlers/container.ts",
    // In every folder Node takes it for the CommonJS that it is.
    fileName: "server.cjs",
    target: "node24",
    cutConfig: executionConfig,
    runsAgent: true,
  },
};

/** Of the Execution zone only what `cross-checks.ts` compares with the rest of the configuration when it is parsed again. */
function verificationConfig({ execution: { syncBudgetMs, authenticator }, ...config }: Config): CutConfig {
  return { ...config, execution: { syncBudgetMs, authenticator } };
}

/** The Execution zone gets nothing of what is the Verification zone's. */
function executionConfig({ execution, telemetry }: Config): CutConfig {
  return { execution, telemetry };
}
