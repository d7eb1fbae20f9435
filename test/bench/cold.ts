/**
 * `npm run bench:cold`: the bundles as deployed, what they load at a cold start, and for the functions that people wait for the time from
 * the start of their process to the first answer, beside an empty handler's, taking turns in one run. Beside the ingress: the least that
 * could do, and Bolt doing the same.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { bundle, bundleBytes, coldBytes, writeFiles } from "../../lib/cdk/bundle/bundle.ts";
import { type BundleName, bundleNames } from "../../lib/cdk/bundle/entry.ts";
import { type AwsStub, startAwsStub } from "./cold/aws-stub.ts";
import { createColdConfig, listColdFunctions } from "./cold/functions.ts";
import { secret } from "./cold/slack-event.ts";
import { type ColdStart, startCold } from "./cold/start.ts";

const rounds = 25;

type Contestant = Omit<ColdStart, "event"> & {
  name: string;
  bytes: number;
  event: () => unknown;
  sendsMessage: boolean;
};

await main();

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-cold-"));
  const stub = await startAwsStub({ secret });
  try {
    const config = createColdConfig(stub.url);
    const bundles = new Map(bundleNames.map((name) => [name, bundle({ name, config, configDirectory: "." })]));
    process.stdout.write(`Node ${process.versions.node}\n\nbundle            KB at a cold start    KB in all\n`);
    for (const [name, { files }] of bundles) {
      const cells = [
        kilobytes(coldBytes({ name, files })).padStart(18),
        kilobytes(bundleBytes({ files })).padStart(12),
      ];
      process.stdout.write(`${name.padEnd(18)}${cells.join(" ")}\n`);
    }

    const functions = listColdFunctions(stub.url);
    const plain = (name: string, source: string, sendsMessage = true): Contestant => {
      const file = join(folder, `${source}.cjs`);
      const code = plainBundle(source);
      writeFileSync(file, code);
      return { ...functions.ingress, name, file, bytes: code.byteLength, sendsMessage };
    };
    const own = (name: BundleName & keyof typeof functions): Contestant => {
      const { files } = bundles.get(name) ?? { files: new Map() };
      const [file = ""] = writeFiles({ files, folder: join(folder, name) });
      return { ...functions[name], name, file, bytes: coldBytes({ name, files }), sendsMessage: true };
    };
    await measure(stub, [
      plain("empty handler", "empty.ts", false),
      plain("least", "least.ts"),
      own("ingress"),
      plain("Bolt, SDK clients", "bolt.ts"),
      own("worker"),
      own("executionUrl"),
    ]);
  } finally {
    stub.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints a row for each. The ratios are those of medians, and of the best deciles, which other work on the machine moves less. */
async function measure(stub: AwsStub, contestants: readonly Contestant[]): Promise<void> {
  const times = contestants.map((): number[] => []);
  // The first round only warms the file system up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { event, sendsMessage, ...contestant }] of contestants.entries()) {
      const before = stub.enqueued();
      const ms = await startCold({ ...contestant, event: event() });
      if (sendsMessage && stub.enqueued() === before) throw new Error(`${contestant.name} enqueued no message`);
      if (round > 0) times[index]?.push(ms);
    }
  }
  process.stdout.write(`\nfirst answer             KB   ms, median of ${rounds}   ratio   ms, best decile   ratio\n`);
  const baseline = quantiles(times[0] ?? []);
  for (const [index, { name, bytes }] of contestants.entries()) {
    const { median, decile } = quantiles(times[index] ?? []);
    const cells = [
      kilobytes(bytes).padStart(9),
      median.toFixed(1).padStart(17),
      (median / baseline.median).toFixed(2).padStart(7),
      decile.toFixed(1).padStart(17),
      (decile / baseline.decile).toFixed(2).padStart(7),
    ];
    process.stdout.write(`${name.padEnd(18)}${cells.join(" ")}\n`);
  }
}

/** With the options of the deployed ones. */
function plainBundle(name: string): Uint8Array {
  const { outputFiles } = buildSync({
    entryPoints: [new URL(`cold/${name}`, import.meta.url).pathname],
    bundle: true,
    write: false,
    minify: true,
    platform: "node",
    format: "cjs",
    mainFields: ["module", "main"],
    target: "node24",
    supported: { "dynamic-import": false },
    legalComments: "none",
    logLevel: "error",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${name}`);
  return output.contents;
}

function kilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}

function quantiles(values: readonly number[]): { median: number; decile: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { median: at(0.5), decile: at(0.1) };
}
