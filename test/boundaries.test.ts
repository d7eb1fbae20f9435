/** The boundaries between contracts, zones and pure code, asked of every source file; and the asker, asked of samples. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { layerRule, packageOf, packageRule, packages } from "./boundaries/packages.ts";
import { leastPureShare, pureFiles, pureFolders } from "./boundaries/pure-files.ts";
import {
  circleRule,
  environmentFiles,
  loaderFiles,
  purePaths,
  pureRule,
  rules,
  violations,
} from "./boundaries/rules.ts";
import { parseSource, readSources, type Source } from "./boundaries/source.ts";

const sources = readSources({
  root: join(import.meta.dirname, ".."),
  folders: ["bin", "contracts", "lambdas", "lib", "test"],
});

/** What breaks a rule, by the first words of its name. */
const broken: readonly (readonly [rule: string, path: string, text: string])[] = [
  [
    "contracts import",
    "contracts/a.ts",
    'import { readFileSync } from "node:fs";\nreadFileSync("a");',
  ],
  ["contracts import", "contracts/a.ts", 'import type { Log } from "@sekisho/runtime/log.ts";'],
  ["contracts import", "contracts/a.ts", "export const a = Buffer.from('a');"],
  ["contracts import", "contracts/a.ts", 'const fs = await import("node:fs");'],
  [packageRule, "lambdas/verification/a.ts", 'import { host } from "@sekisho/execution/host.ts";'],
  [packageRule, "lambdas/verification/a.ts", 'import { host } from "../execution/host.ts";'],
  [packageRule, "lambdas/verification/a.ts", 'await import("@sekisho/execution/host.ts");'],
  [packageRule, "lambdas/execution/a.ts", 'type M = import("@sekisho/verification/a.ts").M;'],
  [packageRule, "lambdas/runtime/a.ts", 'import type { Config } from "@sekisho/config/schema.ts";'],
  [packageRule, "lambdas/runtime/a.ts", 'import { log } from "@sekisho/runtime/log.ts";'],
  [packageRule, "lambdas/execution/a.ts", 'import { log } from "../runtime/log.ts";'],
  [packageRule, "lambdas/execution/a.ts", 'import {\n  a,\n  b,\n} from "../../bin/a.ts";'],
  [packageRule, "lib/cdk/a.ts", 'import type { Host } from "@sekisho/execution/host.ts";'],
  [
    packageRule,
    "lib/conformance/a.ts",
    'import { UsageError } from "@sekisho/sekisho/command.ts";',
  ],
  [packageRule, "lib/local/a.ts", 'import type { Command } from "@sekisho/sekisho/command.ts";'],
  [packageRule, "lambdas/verification/a.ts", 'import{host}from"@sekisho/execution/host.ts";'],
  [packageRule, "lambdas/verification/a.ts", 'const a = 1; import "@sekisho/execution/host.ts";'],
  [
    packageRule,
    "lambdas/verification/a.ts",
    'import { host /* ; */ } from "@sekisho/execution/host.ts";',
  ],
  [
    packageRule,
    "lambdas/verification/a.ts",
    'await import(\n  // Why.\n  "@sekisho/execution/host.ts"\n);',
  ],
  [packageRule, "lambdas/verification/a.ts", "await import(`@sekisho/execution/host.ts`);"],
  [packageRule, "lambdas/verification/a.ts", 'import { host } from "file:///execution/host.ts";'],
  [packageRule, "lambdas/verification/a.ts", 'import { host } from "/execution/host.ts";'],
  [packageRule, "lambdas/another/a.ts", "export const a = 1;"],
  [
    "code is loaded by",
    "lambdas/verification/a.ts",
    'createRequire(import.meta.url)("@sekisho/execution/host.ts");',
  ],
  ["code is loaded by", "lambdas/runtime/http/a.cjs", 'require("@sekisho/execution/host.ts");'],
  ["code is loaded by", "lib/cdk/names.ts", "const name = `a`;\nawait import(name);"],
  [packageRule, "lib/cdk/names.ts", 'await import("@sekisho/" + "execution/host.ts");'],
  ["code is loaded by", "lib/cdk/names.ts", 'import.meta.resolve("@sekisho/execution/host.ts");'],
  [
    "the task machine",
    "lambdas/verification/task/a.ts",
    'import type { SlackApi } from "../slack/api/slack.ts";',
  ],
  [
    "the task machine",
    "lambdas/verification/task/a.ts",
    'import type { Log } from "@sekisho/runtime/log.ts";',
  ],
  ["the task machine", "lambdas/verification/task/a.ts", 'import type { Socket } from "node:net";'],
  [
    layerRule,
    "lambdas/verification/slack/api/a.ts",
    'import type { Files } from "../../files/files.ts";',
  ],
  [
    layerRule,
    "lambdas/verification/gate/a.ts",
    'import { abortable } from "../transport/transport.ts";',
  ],
  [
    layerRule,
    "lambdas/verification/worker/a.ts",
    'import { requestId } from "../ingress/request-id.ts";',
  ],
  [
    layerRule,
    "lambdas/verification/destinations.ts",
    'import type { Worker } from "./worker/worker.ts";',
  ],
  [layerRule, "lambdas/verification/new/a.ts", "export const a = 1;"],
  [circleRule, "lambdas/runtime/a.ts", 'import type { A } from "./a.ts";'],
  [
    "an engine receives",
    "lambdas/runtime/engine/aws/a.ts",
    'export const openStates = new Set(["received", "queued"]);',
  ],
  [
    "an engine receives",
    "lambdas/runtime/engine/a.ts",
    "export const idOf = (body: string) => JSON.parse(body).requestId;",
  ],
  [
    "an engine receives",
    "lambdas/runtime/engine/a.ts",
    'import type { TaskState } from "@sekisho/contracts/methods.ts";',
  ],
  [
    "each store of the Verification zone",
    "lambdas/verification/handlers/a.ts",
    "export const store = createDynamoTaskStore({ client, table, parse });",
  ],
  ["the environment", "lib/a.ts", "export const region = process.env.AWS_REGION;"],
  ["the environment", "lambdas/execution/http/server.ts", "export const port = process.env.PORT;"],
  ["the environment", "bin/a.ts", "const { env } = process;\nexport const port = env.PORT;"],
  ["the environment", "bin/a.mjs", 'console.log(process["env"].PORT);'],
  [
    "the environment",
    "lambdas/runtime/a.ts",
    'import { env } from "node:process";\nexport const port = env.PORT;',
  ],
  [
    "zod is imported whole",
    "contracts/a.ts",
    'import { z } from "zod";\nexport const a = z.string();',
  ],
  ["zod is imported whole", "contracts/a.ts", 'import z from "zod";\nexport const a = z.string();'],
  [
    "zod is imported whole",
    "bin/a.ts",
    'import { z } from "zod/v4";\nexport const a = z.string();',
  ],
  [
    "zod is imported whole",
    "bin/a.ts",
    'import { string } from "zod/mini";\nexport const a = string();',
  ],
  [
    "each client of the AWS SDK",
    "lib/a.ts",
    'const client = new SSMClient({ region: "eu-central-1" });',
  ],
  ["each client of the AWS SDK", "lib/a.ts", "const client = new sdk.SSMClient({ region });"],
  [
    "the browser's code is no part",
    "lib/local/page/page.ts",
    'import { Tree } from "../web/client/elements.tsx";',
  ],
  ["nothing is exported as default", "bin/a.ts", "export default function run() {}"],
  ["nothing is exported as default", "bin/a.ts", "const a = 1;\nexport { a as default };"],
  ["no file hands on", "lambdas/runtime/index.ts", 'export * from "./log.ts";'],
  ["no file hands on", "lambdas/runtime/index.ts", 'export { createLog } from "./log.ts";'],
  ["a test draws no seed", "test/a/b.test.ts", "const seed = Math.floor(Math.random() * 1000);"],
  [
    "a test draws no seed",
    "test/a.test.ts",
    'import fc from "../node_modules/fast-check/lib/fast-check.js";',
  ],
  [
    "what the simulation runs",
    "test/faults/a.test.ts",
    "const today = Math.floor(Date.now() / 86_400_000);",
  ],
  ["pure code", "lambdas/verification/task/a.ts", "export const at = Date.now();"],
  ["pure code", "lambdas/verification/task/a.ts", "export const at = new Date().toISOString();"],
  ["pure code", "lambdas/verification/gate/a.ts", "export const at = performance.now();"],
  ["pure code", "lambdas/verification/task/a.ts", "export const a = Math.random();"],
  [
    "pure code",
    "lambdas/verification/task/a.ts",
    'import { randomUUID } from "node:crypto";\nrandomUUID();',
  ],
  [
    "pure code",
    "lambdas/verification/task/a.ts",
    'import { WebClient } from "@slack/web-api";\nnew WebClient();',
  ],
  ["pure code", "lambdas/verification/task/a.ts", "setTimeout(() => {}, 1);"],
  [
    "pure code",
    "lambdas/verification/slack/messages/outcome-text.ts",
    "export const at = Date.now();",
  ],
];

const innocent: readonly (readonly [why: string, path: string, text: string])[] = [
  [
    "the generator writes files",
    "contracts/generate.ts",
    'import { writeFileSync } from "node:fs";\nwriteFileSync("a", "b");',
  ],
  [
    "a comment mentions a forbidden name",
    "lambdas/verification/task/a.ts",
    "/** Unlike Date.now() or process.env. */\nexport const a = 1;",
  ],
  [
    "a type may come from impure code",
    "lambdas/verification/gate/a.ts",
    'import type { Log } from "@sekisho/runtime/log.ts";',
  ],
  [
    "a hash is not a random source",
    "lambdas/verification/task/a.ts",
    'import { createHash } from "node:crypto";\ncreateHash("sha256");',
  ],
  [
    "a moment may be given",
    "lambdas/verification/task/a.ts",
    "export const at = (ms: number) => new Date(ms).toISOString();",
  ],
  [
    "a listed file reads the environment",
    "lambdas/config/environment.ts",
    "export const port = process.env.PORT;",
  ],
  [
    "the stacks read the table's layout and the configuration",
    "lib/cdk/constructs/a.ts",
    'import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";\nimport { stageConfig } from "@sekisho/config/stage-config.ts";',
  ],
  ["process has more than an environment", "bin/a.ts", "process.exitCode = 1;"],
  [
    "the command line knows both zones",
    "bin/a.ts",
    'import "../lambdas/execution/a.ts";\nimport "../lambdas/verification/a.ts";',
  ],
  [
    "zod is imported correctly",
    "lambdas/runtime/http/a.ts",
    'import * as z from "zod";\nexport const a = z.string();',
  ],
  [
    "its small version is, too",
    "lambdas/runtime/http/a.ts",
    'import * as z from "zod/mini";\nexport const a = z.string();',
  ],
];

describe("the import rules", () => {
  it("every source file keeps the boundary rules", () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(violations(sources)).toEqual([]);
  });

  it("allows no further function above 80 lines", () => {
    // A number that only falls: whoever cuts one of these functions removes its comment and lowers it.
    const listed = sources.filter(({ path }) => !path.startsWith("test/"));
    const suppressions = listed.flatMap(
      ({ text }) => text.match(/noExcessiveLinesPerFunction/g) ?? [],
    );
    expect(suppressions).toHaveLength(20);
  });

  it.each(broken)('the rule "%s" detects a violation in %s by %j', (rule, path, text) => {
    const violationTexts = violations([parseSource({ path, text })]);
    expect(violationTexts.filter((line) => line.startsWith(`${path}: ${rule}`))).not.toEqual([]);
  });

  it("every rule has a sample that breaks it", () => {
    const names = [...rules, pureRule]
      .map(({ name }) => name)
      .concat(packageRule, layerRule, circleRule);
    const untested = names.filter((name) => !broken.some(([rule]) => name.startsWith(rule)));
    expect(untested).toEqual([]);
  });

  it.each(innocent)("accepts allowed code: %s", (_why, path, text) => {
    expect(violations([parseSource({ path, text })])).toEqual([]);
  });

  it("the lists of pure, environment and loader files name existing files", () => {
    const paths = sources.map(({ path }) => path);
    expect(
      [...pureFiles, ...environmentFiles, ...loaderFiles].filter((path) => !paths.includes(path)),
    ).toEqual([]);
    expect(pureFolders.filter((folder) => !paths.some((path) => path.startsWith(folder)))).toEqual(
      [],
    );
  });

  it.each(packages)("the layers of the package $name exist", ({ folder, layers }) => {
    const paths = sources.map(({ path }) => path);
    const missing = layers
      .flat()
      .filter((one) => !paths.some((path) => path.startsWith(folder + one)));
    expect(missing).toEqual([]);
  });

  it.each(packages)(
    "the package $name declares exactly the dependencies that its files import",
    (own) => {
      const files = sources.filter(({ path }) => packageOf(path) === own);
      const modules = files.flatMap(({ imports }) =>
        imports.map(({ specifier }) => specifier).filter((one) => !/^(\.|node:)/.test(one)),
      );
      const imported = new Set(modules.map((one) => /^(@[^/]+\/)?[^/]+/.exec(one)?.[0]));
      const file = join(import.meta.dirname, "..", own.folder, "package.json");
      const manifest = JSON.parse(readFileSync(file, "utf8"));
      const { dependencies, devDependencies, peerDependencies, optionalDependencies } = manifest;
      const names = Object.keys({
        ...dependencies,
        ...devDependencies,
        ...peerDependencies,
        ...optionalDependencies,
      });
      expect(names.sort()).toEqual([...imported].sort());
    },
  );

  it("detects an import circle of several files, including type imports", () => {
    const files = [
      ["lambdas/runtime/http/a.ts", 'import { b } from "./b.ts";\nexport type A = number;\nb();'],
      ["lambdas/runtime/http/b.ts", 'import { c } from "./c.ts";\nexport const b = () => c();'],
      [
        "lambdas/runtime/http/c.ts",
        'import type { A } from "./a.ts";\nexport const c = (): A => 1;',
      ],
      ["lambdas/runtime/http/d.ts", 'import { b } from "./b.ts";\nb();'],
    ].map(([path = "", text = ""]) => parseSource({ path, text }));
    const imports = ["a.ts imports b.ts", "b.ts imports c.ts", "c.ts imports a.ts"].map((text) => {
      const [from, to] = text.split(" imports ").map((name) => `lambdas/runtime/http/${name}`);
      return `${from} imports ${to} (${from})`;
    });
    expect(violations(files)).toEqual([
      `lambdas/runtime/http/a.ts: ${circleRule}: ${imports.join(", ")}`,
    ]);
    expect(violations(files.slice(1))).toEqual([]);
  });

  it.each([
    {
      what: "two folders",
      first: { path: "lib/a/1.ts", imports: "../b/2.ts" },
      second: { path: "lib/b/3.ts", imports: "../a/4.ts" },
      others: ["lib/b/2.ts", "lib/a/4.ts"],
      line: "lib/a imports lib/b (lib/a/1.ts), lib/b imports lib/a (lib/b/3.ts)",
    },
    {
      what: "two packages",
      first: { path: "lambdas/a/1.ts", imports: "../../lib/2.ts" },
      second: { path: "lib/b/3.ts", imports: "../../lambdas/4.ts" },
      others: ["lib/2.ts", "lambdas/4.ts"],
      line: "lambdas imports lib (lambdas/a/1.ts), lib imports lambdas (lib/b/3.ts)",
    },
    {
      what: "a folder and a file beside it",
      first: { path: "lib/a/b/1.ts", imports: "../../c.ts" },
      second: { path: "lib/c.ts", imports: "./a/4.ts" },
      others: ["lib/a/4.ts"],
      line: "lib/a imports lib/c.ts (lib/a/b/1.ts), lib/c.ts imports lib/a (lib/c.ts)",
    },
  ])(
    "detects an import cycle of $what even if no files form one",
    ({ first, second, others, line }) => {
      const rest = others.map((path) => parseSource({ path, text: "export type A = 1;" }));
      const [one, other] = [first, second].map(({ path, imports }) =>
        parseSource({ path, text: `import type { A } from "${imports}";` }),
      );
      if (one === undefined || other === undefined) throw new Error("Each sample has two files.");
      const circles = (files: readonly Source[]) =>
        violations(files).filter((text) => text.includes(circleRule));
      expect(circles([one, other, ...rest])).toEqual([`${first.path}: ${circleRule}: ${line}`]);
      expect(circles([one, ...rest])).toEqual([]);
    },
  );

  it("accepts imports between a folder and the files beside it", () => {
    const files = [
      ["bin/a/main.ts", 'import "./parts/1.ts";'],
      ["bin/a/parts/1.ts", 'import "../words.ts";'],
      ["bin/a/words.ts", "export const words = 1;"],
    ].map(([path = "", text = ""]) => parseSource({ path, text }));
    expect(violations(files)).toEqual([]);
  });

  it("lists only files that read the environment", () => {
    const listed = sources.filter(({ path }) => environmentFiles.has(path));
    expect(listed.filter(({ code }) => !/\bprocess\b/.test(code)).map(({ path }) => path)).toEqual(
      [],
    );
  });

  it("keeps the share of pure code at least as high as before", () => {
    const code = sources.filter(({ path }) => /^(contracts|lambdas)\//.test(path));
    const pure = purePaths(sources);
    const size = (some: typeof code) => some.reduce((sum, source) => sum + source.code.length, 0);
    expect(size(code.filter(({ path }) => pure.has(path))) / size(code)).toBeGreaterThanOrEqual(
      leastPureShare,
    );
  });

  it("applies the rule for pure files to the files that a pure file loads", () => {
    const files = [
      [
        "lambdas/verification/gate/machine.ts",
        'import { later } from "@sekisho/runtime/async/later.ts";\nlater();',
      ],
      [
        "lambdas/runtime/async/later.ts",
        'import { now } from "./now.ts";\nexport const later = () => now() + 1;',
      ],
      ["lambdas/runtime/async/now.ts", "export const now = () => Date.now();"],
    ].map(([path = "", text = ""]) => parseSource({ path, text }));
    expect(violations(files)).toEqual([`lambdas/runtime/async/now.ts: ${pureRule.name}: Date.now`]);
    expect(violations(files.slice(1))).toEqual([]);
  });
});
