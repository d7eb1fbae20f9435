/** The bundles: the entry file of each, and the other files in its asset. */
import { join } from "node:path";
import type { Config } from "@sekisho/config/schema.ts";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";

/** The configuration in the handler's folder. `lambdas/config/deployed.ts` reads it. */
export const configFileName = "config.json";
type CutConfig = Partial<Omit<Config, "execution">> & { execution?: Partial<Config["execution"]> };
export type Entry = {
  /** The file that exports the handler or starts the process. */
  source: string;
  /** The name of the bundled file. Lambda looks for index.js, and an AgentCore runtime starts server.js. */
  fileName: string;
  target: string;
  /** Selects the sections of the configuration for the bundle. Without it, the bundle has no configuration. */
  cutConfig?: (config: Config) => CutConfig;
  runsAgent?: true;
  /** Leaves out modules that the bundle never runs, but that esbuild would not drop by itself. */
  leaveOut?: {
    external?: string[];
    define?: Record<string, string>;
    alias?: Record<string, string>;
  };
  /** Leaves out the descriptions of schemas, which only documents and the discovery of a host show. */
  dropsDescriptions?: true;
  /** Packages that are files of their own beside the handler. Each is loaded by its first `import()`, which many processes never reach. */
  lazy?: readonly LazyPackage[];
};

/** Leaves HTTP/2, `FormData` and a second parser out of undici. Only its HTTP/1.1 client is used. */
export const besideHttp1 = {
  // For bodies that are a `FormData`, and for CPUs without SIMD, which Lambda does not have.
  external: [
    "../web/fetch/body.js",
    "../web/fetch/formdata",
    "../web/webidl",
    "../llhttp/llhttp-wasm.js",
  ],
  // Its second parser, which is experimental.
  define: { esbuildDetection: "true" },
  // It loads HTTP/2 whether that is used or not, which takes 20 ms.
  alias: { "node:http2": join(projectDirectory, "lambdas/runtime/http/no-http2.cjs") },
};

/** A package or a module of ours, and what the code uses of it. Only that is bundled. */
export type LazyPackage = { name: string; fileName: string; exports: readonly string[] };

/** The client of the transport `agentcore`, what recognizes files by their bytes, what makes the tokens that say who asked, and what trades them. */
const lazyInWorker: readonly LazyPackage[] = [
  {
    name: "@aws-sdk/client-bedrock-agentcore",
    fileName: "client-bedrock-agentcore.cjs",
    exports: [
      "BedrockAgentCoreClient",
      "GetAgentCardCommand",
      "InvokeAgentRuntimeCommand",
      "StopRuntimeSessionCommand",
    ],
  },
  {
    name: "file-type",
    fileName: "file-type.cjs",
    exports: ["fileTypeFromBuffer", "supportedMimeTypes"],
  },
  {
    name: "@sekisho/runtime/asker/stage-tokens.ts",
    fileName: "asker-tokens.cjs",
    exports: ["createStageAskerTokens"],
  },
  {
    name: "@sekisho/runtime/auth/token-exchange.ts",
    fileName: "token-exchange.cjs",
    exports: ["createTokenExchangeAuthorizer"],
  },
];

/** The SDK's credential chain, which only an agent elsewhere with signed calls needs. */
const lazyInContainer: readonly LazyPackage[] = [
  {
    name: "@aws-sdk/credential-provider-node",
    fileName: "aws-credentials.cjs",
    exports: ["defaultProvider"],
  },
];

const onLambda = { fileName: "index.js", target: "node24" };

const table = {
  ingress: { ...onLambda, source: "lambdas/verification/handlers/ingress.ts" },
  worker: {
    ...onLambda,
    source: "lambdas/verification/handlers/worker.ts",
    cutConfig: verificationConfig,
    leaveOut: besideHttp1,
    dropsDescriptions: true,
    lazy: lazyInWorker,
  },
  deadLetters: {
    ...onLambda,
    source: "lambdas/verification/handlers/dead-letters.ts",
    cutConfig: verificationConfig,
    dropsDescriptions: true,
  },
  installFlow: {
    ...onLambda,
    source: "lambdas/verification/handlers/install-flow.ts",
    dropsDescriptions: true,
    cutConfig: ({ slack, files, allowlist, destinations }) => ({
      slack,
      files,
      allowlist,
      destinations,
    }),
  },
  executionUrl: {
    ...onLambda,
    source: "lambdas/execution/handlers/function-url.ts",
    cutConfig: executionConfig,
  },
  executionWorker: {
    ...onLambda,
    source: "lambdas/execution/handlers/worker.ts",
    cutConfig: executionConfig,
    runsAgent: true,
  },
  agentcore: {
    source: "lambdas/execution/handlers/agentcore.ts",
    fileName: "server.js",
    // AgentCore has no newer Node than 22.
    target: "node22",
    cutConfig: executionConfig,
    runsAgent: true,
  },
  agentcoreA2a: {
    source: "lambdas/execution/handlers/agentcore-a2a.ts",
    fileName: "server.js",
    target: "node22",
    cutConfig: executionConfig,
    runsAgent: true,
  },
  container: {
    source: "lambdas/execution/handlers/container.ts",
    // The extension makes it CommonJS in every folder.
    fileName: "server.cjs",
    target: "node24",
    cutConfig: executionConfig,
    runsAgent: true,
    leaveOut: besideHttp1,
    lazy: lazyInContainer,
  },
} satisfies Record<string, Entry>;

export type BundleName = keyof typeof table;
export const entries: Record<BundleName, Entry> = table;
export const bundleNames = Object.keys(entries) as BundleName[];

/** Writes a bundle and returns its folder, which CDK copies into the assembly. */
export type WriteBundle = (name: BundleName) => string;

/** Keeps only what `cross-checks.ts` needs of the Execution zone when the configuration is parsed again: two fields, and the agents' names. */
function verificationConfig({
  execution: { syncBudgetMs, authenticator, agents },
  ...config
}: Config): CutConfig {
  const names = Object.keys(agents).map((name) => [name, "echo"] as const);
  const agentNames = names.length > 0 && { agents: Object.fromEntries(names) };
  return { ...config, execution: { syncBudgetMs, authenticator, ...agentNames } };
}

/** The Execution zone gets no section of the Verification zone. */
function executionConfig({ execution, telemetry }: Config): CutConfig {
  return { execution, telemetry };
}
