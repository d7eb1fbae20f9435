/** The code of functions and runtimes can be read by the user under whom AWS runs it, whatever the umask of who deploys. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { writeFiles } from "@sekisho/cdk/bundle/bundle.ts";
import { FileSystem } from "aws-cdk-lib";
import { readAssembly } from "../lab/rehearsal/template/assembly.ts";
import { createResolver } from "../lab/rehearsal/template/resolve.ts";
import { functionsOf, runtimesOf } from "../lab/rehearsal/template/wiring.ts";
import { folderOfFile } from "../tooling/cleanup.ts";
import { configWith, synthInto } from "./synth.ts";

const umask = process.umask(0o077);
afterAll(() => void process.umask(umask));

const modeOf = (path: string) => statSync(path).mode & 0o777;

const bundles = folderOfFile();

it("writes bundles that everybody can read under the umask 077, also into existing folders", () => {
  const folder = join(bundles, "bundle");
  const files = new Map([["index.js", new TextEncoder().encode("exports.handler = 1;")]]);
  for (const _time of [1, 2]) {
    const [path = ""] = writeFiles({ files, folder });
    expect([modeOf(folder), modeOf(path)]).toEqual([0o755, 0o644]);
  }
});

it("creates assets whose files every user can read under the umask 077", async () => {
  const home = {
    destinations: { home: { transport: "https" } },
    routes: [{ destination: "home" }],
  };
  const kinds = ["lambda", "agentcore"] as const;
  const configs = kinds.map(
    (kind) => [kind, configWith({ stage: { execution: { kind } }, ...home })] as const,
  );
  const directory = await synthInto({ configs: Object.fromEntries(configs), stageName: "dev" });
  try {
    const folders = kinds.flatMap((kind) => {
      const assembly = readAssembly(join(directory, kind));
      const resolver = createResolver({ assembly });
      return [...functionsOf({ assembly, resolver }), ...runtimesOf({ assembly, resolver })].map(
        ({ folder }) => folder,
      );
    });
    expect(folders.length).toBeGreaterThan(6);
    const modes = folders.flatMap((folder) =>
      readdirSync(folder).map((name) => modeOf(join(folder, name))),
    );
    expect(new Set(modes)).toEqual(new Set([0o644]));
    // The hash of the contents is that of an asset whose files only their owner can read, and CDK uploads no asset twice.
    for (const folder of folders) expect(folder).not.toContain(FileSystem.fingerprint(folder));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
