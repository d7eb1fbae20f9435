/** The packages that people install: what each offers, and what it has besides its compiled code. */
import type { BundleName } from "@sekisho/cdk/bundle/entry.ts";

export type Published = {
  name: string;
  /** The folder with its package.json and README.md. */
  folder: string;
  /** The files that others import, by subpath. */
  entries?: Readonly<Record<string, string>>;
  /** The commands, and the files that start them. */
  commands?: Readonly<Record<string, string>>;
  /** Files that are compiled too, because others load them by their path. Globs. */
  loadedByPath?: readonly string[];
  /** Further subpaths, of files that are used as they are. */
  exports?: Readonly<Record<string, unknown>>;
  /** Files and folders that are used as they are. */
  copied?: readonly string[];
  /** True if it has the web app, as one script and one style sheet. */
  hasWebApp?: boolean;
  /** Bundles that are built already, so that a bundler is needed only for an agent of one's own. */
  prebuilt?: readonly BundleName[];
  /** Packages that its user has in a version of their own. */
  peers?: Readonly<Record<string, string>>;
  /** The same, for a part that not everybody uses. */
  optionalPeers?: Readonly<Record<string, string>>;
  /** Imports that become optional peers, by the beginnings of their names: whoever does not use them need not install them. */
  optionalImports?: readonly string[];
};

/** Bundles an agent of one's own. */
const bundler = { esbuild: ">=0.25.0" };

export const publishedPackages: readonly Published[] = [
  {
    name: "@sekisho/contracts",
    folder: "contracts",
    entries: { ".": "contracts/index.ts" },
    exports: {
      "./openrpc.json": "./contracts/generated/openrpc.json",
      "./schemas/*": "./contracts/generated/schemas/*",
      // For the other packages of the same version: the classes of errors exist once.
      "./*.js": { types: "./contracts/*.d.ts", default: "./contracts/*.js" },
    },
    loadedByPath: ["contracts/{*,a2a/**/*}.ts"],
    copied: ["contracts/generated"],
  },
  {
    name: "@sekisho/execution",
    folder: "lambdas/execution",
    entries: { ".": "lambdas/execution/index.ts", "./agent": "lambdas/execution/agent.ts" },
    optionalImports: ["@aws-sdk/", "@opentelemetry/", "prom-client"],
  },
  {
    name: "@sekisho/cdk",
    folder: "lib/cdk",
    entries: { ".": "lib/cdk/index.ts" },
    copied: ["cdk.json"],
    prebuilt: [
      "ingress",
      "worker",
      "deadLetters",
      "installFlow",
      "executionUrl",
      "executionWorker",
      "agentcore",
      "agentcoreA2a",
    ],
    peers: { "aws-cdk-lib": "^2.276.0", constructs: "^10.8.1" },
    optionalPeers: bundler,
  },
  {
    name: "@sekisho/conformance",
    folder: "lib/conformance",
    entries: { ".": "lib/conformance/index.ts" },
    commands: { "sekisho-conformance": "lib/conformance/main.ts" },
  },
  {
    name: "@sekisho/sekisho",
    folder: "lib/cli",
    commands: { sekisho: "lib/cli/entry.mjs" },
    loadedByPath: ["lib/local/watch/report-files.ts"],
    exports: { "./sekisho.config.schema.json": "./sekisho.config.schema.json" },
    copied: [
      "docs",
      "examples",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      "cdk.json",
      "sekisho.config.schema.json",
      "lib/local/web",
    ],
    hasWebApp: true,
    prebuilt: ["container"],
    optionalPeers: bundler,
  },
];
