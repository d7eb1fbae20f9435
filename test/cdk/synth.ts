/** Synthesizes stages in another process, as the CDK command line does, and reads the results. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Assembly, readAssembly } from "../lab/rehearsal/template/assembly.ts";
import { hangMs } from "../tooling/hang.ts";

const project = join(__dirname, "../..");
export const a = "111111111111";
export const b = "222222222222";
const region = "eu-central-1";
type Json = Record<string, unknown>;
export type Resource = {
  id: string;
  type: string;
  properties: Json;
  deletionPolicy: string | undefined;
};
export type SynthesizedStack = { zone: string; text: string; resources: Resource[]; outputs: Json };
export type Run = { code: number; errors: string };

/** A configuration with one stage, `dev`. */
export function configWith({ stage, ...otherKeys }: Json & { stage: Json }) {
  const verification = { account: a, region };
  return {
    allowlist: [{ team: "T012AB3CD" }],
    ...otherKeys,
    stages: { dev: { verification, ...stage } },
  };
}

export async function runApp({
  config,
  context = {},
}: {
  config: unknown;
  context?: Json;
}): Promise<Run & { folder: string; directory: string; remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-synth-"));
  const folder = join(directory, "out");
  const file = join(directory, "config.json");
  writeFileSync(file, JSON.stringify(config));
  const env = {
    PATH: process.env.PATH,
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ config: file, ...context }),
  };
  const run = await new Promise<Run>((resolve) => {
    const app = join(project, "bin/app.mjs");
    const child = execFile(
      process.execPath,
      [app],
      { cwd: project, env, timeout: hangMs },
      (_error, _out, errors) => {
        resolve({ code: child.exitCode ?? -1, errors });
      },
    );
  });
  return {
    ...run,
    folder,
    directory,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export type Synthesized = {
  stacks: Map<string, SynthesizedStack>;
  /** Returns the resources of a type in all stacks, or in that of a zone. */
  resources(type: string, zone?: string): Resource[];
  order: string[];
  accounts: Map<string, string>;
  /** The templates for a resolver. The folders of the assets are gone. */
  assembly: Assembly;
};

/**
 * Synthesizes all configurations in one process, which loads CDK once. Resolves to a directory with a folder for each. Rejects where
 * a synth fails.
 */
export async function synthInto({
  configs,
  stageName,
}: {
  configs: Record<string, unknown>;
  stageName: string;
}): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-synth-"));
  const args = [
    join(__dirname, "children/synthesize.ts"),
    directory,
    JSON.stringify(configs),
    stageName,
  ];
  await promisify(execFile)(process.execPath, args, { cwd: project, timeout: hangMs });
  return directory;
}

/** Synthesizes the stage `dev` of each configuration. */
export async function synthAll<Name extends string>(
  configs: Record<Name, unknown>,
): Promise<Map<Name, Synthesized>> {
  const directory = await synthInto({ configs, stageName: "dev" });
  const names = Object.keys(configs) as Name[];
  const apps = new Map(names.map((name) => [name, readSynthesized(join(directory, name))]));
  rmSync(directory, { recursive: true, force: true });
  return apps;
}

function readSynthesized(folder: string): Synthesized {
  const zones = readdirSync(folder).flatMap(
    (name) => /^(\w+)\.template\.json$/.exec(name)?.[1] ?? [],
  );
  const { artifacts } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const stacks = new Map(zones.map((zone) => [zone, readStack({ folder, zone })]));
  return {
    stacks,
    resources: (type, zone) =>
      [...stacks.values()]
        .filter((stack) => zone === undefined || stack.zone === zone)
        .flatMap(({ resources }) => resources.filter((resource) => resource.type === type)),
    order: deployOrder(zones, (zone) => artifacts[zone].dependencies),
    accounts: new Map(zones.map((zone) => [zone, artifacts[zone].environment])),
    assembly: readAssembly(folder),
  };
}

function readStack({ folder, zone }: { folder: string; zone: string }): SynthesizedStack {
  const text = readFileSync(join(folder, `${zone}.template.json`), "utf8");
  const { Resources, Outputs = {} } = JSON.parse(text);
  const resources = Object.entries<Json>(Resources).map(
    ([id, { Type, Properties = {}, DeletionPolicy }]) => ({
      id,
      type: String(Type),
      properties: Properties as Json,
      deletionPolicy: DeletionPolicy as string | undefined,
    }),
  );
  return { zone, text, resources, outputs: Outputs };
}

/** Puts each stack after those that it depends on, as `cdk deploy --all` does. Throws for a circle. */
function deployOrder(zones: string[], dependenciesOf: (zone: string) => string[]): string[] {
  const doneZones: string[] = [];
  while (doneZones.length < zones.length) {
    const isReady = (name: string) => !zones.includes(name) || doneZones.includes(name);
    const ready = zones.filter(
      (zone) => !doneZones.includes(zone) && dependenciesOf(zone).every(isReady),
    );
    if (ready.length === 0) throw new Error("The stacks wait for each other.");
    doneZones.push(...ready);
  }
  return doneZones;
}

/** Returns the logical id of a Ref or a Fn::GetAtt. */
export function referenced(value: unknown): string {
  const { Ref, "Fn::GetAtt": attribute } = value as { Ref?: string; "Fn::GetAtt"?: string[] };
  return Ref ?? attribute?.[0] ?? "";
}

/** Fields with a physical name. A changed name replaces the resource, and the data of the old one is lost. */
const nameFields = /^(\w*Name|Name|Namespace|Path|AliasName)$/;

/** Fields that decide what a resource may do, and how much at once. */
const decidingFields =
  /Policy(Document)?$|^(Policies|Role(Arn)?|Environment(Variables)?|Layers|Timeout|ReservedConcurrentExecutions|KmsMasterKeyId|VisibilityTimeout|MessageRetentionPeriod|(Default)?RouteSettings)$/;

const wholeTypes =
  /^AWS::(IAM::|CloudWatch::Alarm$|Lambda::Permission$|Lambda::EventSourceMapping$)/;

/**
 * Returns one line per resource: its stack, logical id, type, facts as JSON, and the letters of the variants that have it. The facts
 * of IAM resources, alarms, permissions and event sources are all their properties. Those of other resources are their physical names
 * and the fields that decide.
 */
export function templateFacts(apps: ReadonlyMap<string, Synthesized>): string {
  const letters = [...apps.keys()].map((name, index) => ({
    name,
    letter: String.fromCharCode(65 + index),
  }));
  const lines = new Map<string, string>();
  for (const { name, letter } of letters) {
    for (const { zone, resources } of apps.get(name)?.stacks.values() ?? []) {
      for (const resource of resources) {
        const facts = JSON.stringify(fold(factsOf(resource)));
        const line = `${zone} ${resource.id} ${resource.type} ${facts}`;
        lines.set(line, `${lines.get(line) ?? ""}${letter}`);
      }
    }
  }
  const legend = letters.map(({ name, letter }) => `${letter} = ${name}`);
  const rows = [...lines].map(([line, variants]) => `${line} ${variants}`).sort();
  return `${[...legend, ...rows].join("\n")}\n`;
}

function factsOf({ type, properties, deletionPolicy }: Resource): Record<string, unknown> {
  const { AlarmDescription: _text, ...facets } = properties;
  const facts = Object.entries(facets).filter(
    ([field]) => wholeTypes.test(type) || nameFields.test(field) || decidingFields.test(field),
  );
  return {
    ...Object.fromEntries(facts),
    ...(deletionPolicy === undefined ? {} : { deletionPolicy }),
  };
}

/** Writes references and joins as `Fn::Sub` does, which is shorter to read: `${Tasks.Arn}`. */
function fold(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fold);
  if (typeof value !== "object" || value === null) return value;
  const [[name, argument] = ["", undefined], ...others] = Object.entries(value);
  if (others.length === 0) {
    if (name === "Ref") return `\${${argument}}`;
    if (name === "Fn::GetAtt") return `\${${argument.join(".")}}`;
    if (name === "Fn::GetStackOutput") return `\${${argument.StackName}.${argument.OutputName}}`;
    if (name === "Fn::Join") return argument[1].map(fold).join(argument[0]);
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fold(entry)]));
}

const bearer = { type: "bearer", token: { env: "FAR_TOKEN" } };
const far = {
  transport: "https",
  url: "https://far.example/",
  authorizer: bearer,
  idempotent: true,
};
const sigv4 = (service: string) => ({ type: "sigv4", service, region: "eu-west-1" });

const signedDestination = {
  transport: "https",
  url: "https://abc.lambda-url.eu-west-1.on.aws/",
  authorizer: {
    ...sigv4("lambda"),
    functionArn: "arn:aws:lambda:eu-west-1:333333333333:function:host",
  },
};

const api = {
  ...signedDestination,
  url: "https://abc.execute-api.eu-west-1.amazonaws.com/x",
  authorizer: sigv4("execute-api"),
};
const webIdentity = {
  ...far,
  authorizer: { type: "web-identity", audience: "https://far.example" },
};
const assumeRoleArn = "arn:aws:iam::333333333333:role/caller";
const roleDestination = {
  ...far,
  authorizer: { ...sigv4("execute-api"), assumeRoleArn, externalId: "sekisho-dev" },
};
const destinations = { home: { transport: "https" }, far };
const toHome = {
  destinations,
  routes: [{ channel: "C1", destination: "far" }, { destination: "home" }],
};
const guardrail = { id: "gr123", version: "1" };
const ofRegion = { type: "bedrock", modelId: "amazon.nova-lite-v1:0" };
const applicationProfile = `arn:aws:bedrock:${region}:${b}:application-inference-profile/abc123def456`;
const ofApplicationProfile = { type: "bedrock", modelId: applicationProfile };
const ofProfile = { type: "bedrock", modelId: "eu.amazon.nova-lite-v1:0", guardrail };
const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };

const collector = {
  type: "otlp",
  url: "https://collector.example/v1/traces",
  headers: { "x-key": { env: "OTLP_KEY" } },
};
const layerOf = (account: string) => `arn:aws:lambda:${region}:${account}:layer:collector-arm64:3`;
const signature = { key: { env: "CARD_KEY" }, keyId: "2026-1" };
const client = "arn:aws:iam::333333333333:role/a-client";

export const variants = {
  "agentcore in two accounts": configWith({
    stage: { execution: { kind: "agentcore", account: b } },
    telemetry: { traces: { exporter: { type: "xray" }, sampleRatio: 0.1 } },
    ...toHome,
  }),
  "lambda in two accounts, in production": configWith({
    stage: {
      execution: { kind: "lambda", account: b },
      production: true,
      alarmEmail: "pager@example.com",
      scale: {
        workerConcurrency: 8,
        agentConcurrency: 24,
        eventsPerSecond: 120,
        eventBurst: 400,
        reservedIngress: 30,
      },
    },
    execution: { agent: ofApplicationProfile },
    ...toHome,
  }),
  "agentcore in one account, in production": configWith({
    stage: { execution: { kind: "agentcore", stopAfterResult: true }, production: true },
    execution: { agent: ofProfile },
    ...toHome,
  }),
  "lambda in one account": configWith({
    stage: {
      verification: { account: a, region, telemetryLayer: layerOf("333333333333") },
      execution: { kind: "lambda", telemetryLayer: layerOf("444444444444") },
    },
    // Without an address the signature has no effect.
    execution: { agent: ofRegion, a2a: { signature } },
    telemetry: { logs: { level: "warn", debugRatio: 0.05 }, traces: { exporter: collector } },
    ...toHome,
  }),
  "lambda that serves A2A": configWith({
    stage: { execution: { kind: "lambda" } },
    execution: { a2a: { url: "https://agents.example/", callers: [client], signature } },
    ...toHome,
  }),
  external: configWith({
    stage: { execution: { kind: "external" } },
    slack: { install, context: { forwards: false } },
    destinations: {
      far,
      signed: signedDestination,
      api,
      "web-identity": webIdentity,
      assumed: roleDestination,
    },
    routes: [{ destination: "far" }],
  }),
} as const;
