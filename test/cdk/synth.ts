/** Synthesizes stages in another process, as the CDK command line does, and reads the results. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Assembly, readAssembly } from "../rehearsal/template/assembly.ts";

const project = join(__dirname, "../..");
const timeoutMs = 60_000;
const allTimeoutMs = 180_000;
export const a = "111111111111";
export const b = "222222222222";
const region = "eu-central-1";

type Json = Record<string, unknown>;
export type Resource = { id: string; type: string; properties: Json; deletionPolicy: string | undefined };
export type SynthesizedStack = { zone: string; text: string; resources: Resource[]; outputs: Json };
export type Run = { code: number; errors: string };

/** A configuration with one stage, `dev`. */
export function configWith({ stage, ...rest }: Json & { stage: Json }) {
  const verification = { account: a, region };
  return { allowlist: [{ team: "T012AB3CD" }], ...rest, stages: { dev: { verification, ...stage } } };
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
      { cwd: project, env, timeout: timeoutMs },
      (_error, _out, errors) => {
        resolve({ code: child.exitCode ?? -1, errors });
      },
    );
  });
  return { ...run, folder, directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
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
  const args = [join(__dirname, "children/synthesize.ts"), directory, JSON.stringify(configs), stageName];
  await promisify(execFile)(process.execPath, args, { cwd: project, timeout: allTimeoutMs });
  return directory;
}

/** Synthesizes the stage `dev` of each configuration. */
export async function synthAll<Name extends string>(configs: Record<Name, unknown>): Promise<Map<Name, Synthesized>> {
  const directory = await synthInto({ configs, stageName: "dev" });
  const names = Object.keys(configs) as Name[];
  const made = new Map(names.map((name) => [name, readSynthesized(join(directory, name))]));
  rmSync(directory, { recursive: true, force: true });
  return made;
}

function readSynthesized(folder: string): Synthesized {
  const zones = readdirSync(folder).flatMap((name) => /^(\w+)\.template\.json$/.exec(name)?.[1] ?? []);
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
  const resources = Object.entries<Json>(Resources).map(([id, { Type, Properties = {}, DeletionPolicy }]) => ({
    id,
    type: String(Type),
    properties: Properties as Json,
    deletionPolicy: DeletionPolicy as string | undefined,
  }));
  return { zone, text, resources, outputs: Outputs };
}

/** Puts each stack after those that it depends on, as `cdk deploy --all` does. Throws for a circle. */
function deployOrder(zones: string[], dependenciesOf: (zone: string) => string[]): string[] {
  const done: string[] = [];
  while (done.length < zones.length) {
    const isReady = (name: string) => !zones.includes(name) || done.includes(name);
    const ready = zones.filter((zone) => !done.includes(zone) && dependenciesOf(zone).every(isReady));
    if (ready.length === 0) throw new Error("The stacks wait for each other.");
    done.push(...ready);
  }
  return done;
}

/** Returns the text of a Fn::Join without its references. */
export function joined(value: unknown): string {
  if (typeof value === "string") return value;
  const { "Fn::Join": [separator, parts] = ["", []] } = value as { "Fn::Join"?: [string, unknown[]] };
  return parts.map((part) => (typeof part === "string" ? part : "")).join(separator);
}

/** Returns the logical id of a Ref or a Fn::GetAtt. */
export function referenced(value: unknown): string {
  const { Ref, "Fn::GetAtt": attribute } = value as { Ref?: string; "Fn::GetAtt"?: string[] };
  return Ref ?? attribute?.[0] ?? "";
}
