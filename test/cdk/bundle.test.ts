/** The contents and sizes of the bundles. */

import { readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { afterAll, describe, expect, it, jest } from "@jest/globals";
import * as bundler from "@sekisho/cdk/bundle/bundle.ts";
import { type BundleName, bundleNames, entries } from "@sekisho/cdk/bundle/entry.ts";
import { bundledAgentFile } from "@sekisho/config/deployed.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { stop } from "esbuild";
import { sectionOf, tablesIn, textOf as textOfPage } from "../docs/pages.ts";
import { folderOfFile } from "../tooling/cleanup.ts";
import { configWith } from "./synth.ts";

const configDirectory = folderOfFile();

writeFileSync(
  join(configDirectory, "agent.ts"),
  'export const agent = async function* () { yield { type: "answer", text: "own-agent-text" }; };\n',
);

afterAll(stop);
type Made = {
  /** Loaded at a cold start. */
  kilobytes: number;
  kilobytesOf(fileName: string): number;
  text: string;
  inputs: string[];
  imports: string[];
};
const made = new Map<BundleName, Made>();

/** Returns the bundle with the agent `echo`. It is made once. */
function echo(name: BundleName): Made {
  const bundle = made.get(name) ?? bundleOf(name);
  made.set(name, bundle);
  return bundle;
}

const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:runtime/agent-abc123";
const bearer = { type: "bearer", token: { env: "KEY" } };
const harnessArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:harness/agent-AbCdEf1234";

function bundleOf(
  name: BundleName,
  agent: unknown = "echo",
  { bundle, coldBytes } = bundler,
): Made {
  const json = {
    ...configWith({ stage: { execution: { kind: "lambda" } } }),
    execution: { agent },
  };
  const config = createStageConfig({ config: parseConfig({ json }), stageName: "dev" });
  const { files, metafile } = bundle({ name, config, configDirectory });
  // Only files of which esbuild kept something.
  const inputs = Object.values(metafile.outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
  const imports = Object.values(metafile.outputs).flatMap((output) =>
    output.imports.map(({ path }) => path),
  );
  const kilobytesOf = (fileName: string) => (files.get(fileName)?.byteLength ?? 0) / 1000;
  return {
    kilobytes: coldBytes({ name, files }) / 1000,
    kilobytesOf,
    text: textOf(files),
    inputs,
    imports,
  };
}

/** Returns all files of a bundle, each after its name. */
function textOf(files: ReadonlyMap<string, Uint8Array>): string {
  return [...files]
    .map(([name, content]) => `${name}\n${Buffer.from(content).toString()}`)
    .join("\n");
}

const { bundles } = JSON.parse(readFileSync(join(__dirname, "../budgets.json"), "utf8"));
const ceilings = bundleNames.map((name) => [name, Number(bundles[name])] as const);

describe("a bundle", () => {
  it.each(["ingress", "executionWorker"] as const)(
    "bundles %s to the same bytes for the same input",
    (name) => {
      // Another copy of the module, because one builds each handler once.
      jest.isolateModules(() => {
        const again = require("@sekisho/cdk/bundle/bundle.ts") as typeof bundler;
        expect(bundleOf(name, "echo", again).text).toBe(echo(name).text);
      });
    },
  );

  it.each(ceilings)("the bundle of %s loads at most %s KB at a cold start", (name, most) => {
    expect(echo(name).kilobytes).toBeLessThanOrEqual(most);
  });

  it("keeps the descriptions of schemas only where a host shows them", () => {
    const hasDescriptions = (name: BundleName) => echo(name).text.includes('.describe("');
    const zone = ["worker", "deadLetters", "installFlow"] as const;
    expect([...zone.filter(hasDescriptions), hasDescriptions("container")]).toEqual([true]);
  });

  it("docs/reference/dependencies.md lists the limits of the bundles, and their sizes within 5 %", () => {
    const [rows = []] = tablesIn(
      sectionOf(textOfPage("docs/reference/dependencies.md"), "## Bundles"),
    );
    const shownRows = rows.map(([cell = "", size, most]) => ({
      name: /`(\w+)`/.exec(cell)?.[1],
      size,
      most: Number(most),
    }));
    expect(shownRows.map(({ name, most }) => [name, most])).toEqual(ceilings);
    const wrong = ceilings.filter(
      ([name], at) => Math.abs(Number(shownRows[at]?.size) / echo(name).kilobytes - 1) > 0.05,
    );
    expect(wrong).toEqual([]);
  });

  it.each([
    ["client-bedrock-agentcore.cjs", 371],
    ["file-type.cjs", 84],
    ["asker-tokens.cjs", 9.1],
    ["token-exchange.cjs", 24],
  ])("the worker loads %s lazily, with at most %s KB", (fileName, most) => {
    const kilobytes = echo("worker").kilobytesOf(fileName);
    expect(kilobytes).toBeGreaterThan(0);
    expect(kilobytes).toBeLessThanOrEqual(most);
  });

  it.each([
    ["echo", 12],
    [{ type: "openai-compatible", baseUrl: "https://model.example/v1", model: "m" }, 26.2],
    [{ type: "http", runtimeArn }, 247],
    [{ type: "ag-ui", runtimeArn }, 281],
    [{ type: "responses", baseUrl: "https://m.example/v1", authorizer: bearer }, 252],
    [{ type: "harness", harnessArn }, 257],
    [{ type: "bedrock", modelId: "amazon.nova-lite-v1:0" }, 345],
  ])("bundles the agent %j with at most %s KB", (agent, most) => {
    expect(bundleOf("container", agent).kilobytesOf(bundledAgentFile())).toBeLessThanOrEqual(most);
  });

  it.each(bundleNames)(
    "the bundle of %s contains no code of the other zone, of the stacks or of CDK",
    (name) => {
      const isExecution = !["ingress", "worker", "deadLetters", "installFlow"].includes(name);
      const [own, other] = isExecution
        ? ["execution", "verification"]
        : ["verification", "execution"];
      const { inputs } = echo(name);
      expect(inputs.filter((path) => path.startsWith(`lambdas/${own}/`))).not.toEqual([]);
      expect(
        inputs.filter(
          (path) => path.startsWith(`lambdas/${other}/`) || /^(lib|bin|test)\/|aws-cdk/.test(path),
        ),
      ).toEqual([]);
    },
  );

  it.each(bundleNames)(
    "the bundle of %s imports only modules of Node and files beside it",
    (name) => {
      const beside = entries[name].lazy?.map(({ fileName }) => `./${fileName}`) ?? [];
      const { external = [] } = entries[name].leaveOut ?? {};
      const outside = echo(name).imports.filter(
        (path) => !isBuiltin(path) && !external.includes(path),
      );
      expect(outside.sort()).toEqual(beside.sort());
    },
  );

  it("the bundle of the worker contains only the HTTP/1.1 parts of undici", () => {
    const { inputs, imports } = echo("worker");
    const files = inputs.flatMap((path) => /\/undici\/lib\/(.+)$/.exec(path)?.[1] ?? []);
    expect(files).toContain("llhttp/llhttp_simd-wasm.js");
    expect(
      files.filter((path) => /^(web|milo|api|mock|interceptor)\/|llhttp-wasm/.test(path)),
    ).toEqual([]);
    expect(imports).not.toContain("node:http2");
  });

  it("the bundle of the ingress contains only the small variant of zod", () => {
    expect(
      echo("ingress").inputs.filter((path) => /zod\/v4\/(classic|locales)/.test(path)),
    ).toEqual([]);
  });

  it.each([
    ["echo", /agents\/echo\.ts$/],
    [{ type: "bedrock", modelId: "amazon.nova-lite-v1:0" }, /agents\/bedrock/],
    [
      { type: "openai-compatible", baseUrl: "https://model.example/v1", model: "m" },
      /agents\/openai-compatible/,
    ],
    [{ type: "http", runtimeArn }, /agents\/http/],
    ["./agent.ts", /agent\.ts$/],
  ])("bundles the configured agent %j and no other agent", (agent, own) => {
    const { inputs } = bundleOf("executionWorker", agent);
    const all = [
      ...[/agents\/echo\.ts$/, /agents\/bedrock/, /agents\/openai-compatible/, /agents\/http/],
    ];
    expect(inputs.some((path) => own.test(path))).toBe(true);
    const others = all.filter((pattern) => String(pattern) !== String(own));
    expect(inputs.filter((path) => others.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  it("leaves the agent out of a bundle that runs no agent", () => {
    expect(bundleOf("executionUrl", "./agent.ts").text).not.toContain("own-agent-text");
    expect(bundleOf("executionWorker", "./agent.ts").text).toContain("own-agent-text");
  });

  it("bundles only the execution and telemetry settings into the Execution zone", () => {
    const secret = (name: string) => ({ secretsManager: name });
    const json = {
      ...configWith({
        stage: {
          execution: { kind: "external" },
          alarmEmail: "only-verification-mail@example.com",
        },
      }),
      allowlist: [{ team: "TONLYVERIFICATION" }],
      slack: {
        signingSecret: secret("only-verification-signing"),
        botToken: secret("only-verification-bot"),
        install: { clientId: "12.34", clientSecret: secret("only-verification-client") },
      },
      destinations: {
        far: {
          transport: "https",
          url: "https://only-verification.example/",
          authorizer: { type: "bearer", token: secret("only-verification-far") },
        },
      },
      routes: [{ destination: "far" }],
      execution: {
        agent: "echo",
        authenticator: { type: "bearer", tokens: [secret("only-execution-token")] },
      },
    };
    const config = createStageConfig({ config: parseConfig({ json }), stageName: "dev" });
    for (const name of [
      "container",
      "agentcore",
      "agentcoreA2a",
      "executionUrl",
      "executionWorker",
    ] as const) {
      const { files } = bundler.bundle({ name, config, configDirectory });
      const sections = JSON.parse(Buffer.from(files.get("config.json") ?? "").toString());
      expect(Object.keys(sections)).toEqual(["execution", "telemetry"]);
      const text = textOf(files);
      expect(text).toContain("only-execution-token");
      expect(text.match(/[\w.-]*only-?verification[\w-]*/gi) ?? []).toEqual([]);
    }
    const worker = textOf(bundler.bundle({ name: "worker", config, configDirectory }).files);
    expect(worker).toContain("only-verification-far");
  });

  it("reports an agent file without an agent by the name of that file", () => {
    writeFileSync(join(configDirectory, "other.ts"), "export const other = 1;\n");
    expect(() => bundleOf("executionWorker", "./other.ts")).toThrow(
      /\n {2}- \.\/other\.ts must export `agent`$/,
    );
  });
});

/** Every client of the AWS SDK needs these, mostly for the default credential chain. No function loads them at a cold start. */
const sdk = [
  "@aws-sdk/core",
  "@aws-sdk/credential-provider-env",
  "@aws-sdk/credential-provider-http",
  "@aws-sdk/credential-provider-ini",
  "@aws-sdk/credential-provider-login",
  "@aws-sdk/credential-provider-node",
  "@aws-sdk/credential-provider-process",
  "@aws-sdk/credential-provider-sso",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/nested-clients",
  "@aws-sdk/signature-v4-multi-region",
  "@aws-sdk/token-providers",
  "@aws-sdk/xml-builder",
  "@aws/lambda-invoke-store",
  "@smithy/core",
  "@smithy/credential-provider-imds",
  "@smithy/node-http-handler",
  "@smithy/signature-v4",
  "@smithy/types",
];

/** For the detection of file types. */
const fileTypes = [
  "file-type",
  "@borewit/text-codec",
  "@tokenizer/inflate",
  "debug",
  "has-flag",
  "ieee754",
  "ms",
  "strtok3",
  "supports-color",
  "token-types",
  "uint8array-extras",
];

/** For spans. */
const tracing = [
  "@opentelemetry/api",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/core",
  "@opentelemetry/otlp-transformer",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace",
  "@opentelemetry/semantic-conventions",
];

/** Only for processes that keep running. */
const prometheus = ["prom-client", "tdigest", "bintrees"];

/** Loaded at a cold start. */
const budgets: Record<BundleName, readonly string[]> = {
  ingress: ["zod"],
  worker: ["zod", "undici", ...tracing, "jose", "eventsource-parser"],
  deadLetters: ["zod", ...tracing],
  installFlow: ["zod", "jose"],
  executionUrl: ["zod", ...tracing, "jose", "canonicalize"],
  executionWorker: ["zod", ...tracing],
  agentcore: ["zod", ...prometheus, ...tracing, ...sdk, "jose"],
  agentcoreA2a: ["zod", ...prometheus, ...tracing, ...sdk, "jose", "canonicalize"],
  container: ["undici", "zod", ...prometheus, ...tracing, "jose", "canonicalize"],
};

const lazyBudgets: Record<string, { name: BundleName; packages: readonly string[] }> = {
  "asker-tokens.cjs": { name: "worker", packages: [] },
  "aws-credentials.cjs": { name: "container", packages: sdk },
  "client-bedrock-agentcore.cjs": {
    name: "worker",
    packages: ["@aws-sdk/client-bedrock-agentcore", ...sdk],
  },
  "file-type.cjs": { name: "worker", packages: fileTypes },
  "token-exchange.cjs": { name: "worker", packages: ["oauth4webapi"] },
};

/** The packages in the files of a bundle for which `isAsked`. */
function packagesOf(name: BundleName, isAsked: (fileName: string) => boolean): string[] {
  const { metafile } = bundler.bundle({
    name,
    config: parseConfig({ json: {} }),
    configDirectory: ".",
  });
  const outputs = Object.entries(metafile.outputs).filter(([fileName]) => isAsked(fileName));
  const inputs = outputs.flatMap(([, output]) => Object.entries(output.inputs));
  const packages = inputs.flatMap(([path, { bytesInOutput }]) => {
    const [, packageName] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    return packageName === undefined || bytesInOutput === 0 ? [] : [packageName];
  });
  return [...new Set(packages)];
}

it.each(bundleNames)(
  "a cold start of %s loads only the packages of its budget, with the agent echo",
  (name) => {
    expect(packagesOf(name, (fileName) => !(fileName in lazyBudgets)).sort()).toEqual(
      [...budgets[name]].sort(),
    );
  },
);

it.each(Object.entries(lazyBudgets))(
  "the lazy file %s contains only the packages of its budget",
  (fileName, { name, packages }) => {
    expect(packagesOf(name, (each) => each === fileName).sort()).toEqual([...packages].sort());
  },
);
