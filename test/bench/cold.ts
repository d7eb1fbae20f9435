/**
 * `npm run bench:cold`: the bundles as deployed, their size, and for the ingress the time from the start of its process to
 * its first answer, beside an empty handler's, the least that could do, and Bolt doing the same, taking turns in one run.
 */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { buildSync } from "esbuild";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { bundle, bundleBytes } from "../../lib/cdk/bundle/bundle.ts";
import { bundleNames } from "../../lib/cdk/bundle/entry.ts";
import { secret } from "./cold/slack-event.ts";
import { startCold } from "./cold/start.ts";

const rounds = 25;

type Contestant = { name: string; code: Uint8Array };

await main();

async function main(): Promise<void> {
  const config = parseConfig({ json: {} });
  const madeOf = (name: (typeof bundleNames)[number]) => bundle({ name, config, configDirectory: "." });
  process.stdout.write(`Node ${process.versions.node}\n\nbundle            KB minified\n`);
  for (const name of bundleNames) {
    process.stdout.write(`${name.padEnd(18)}${kilobytes(bundleBytes(madeOf(name))).padStart(11)}\n`);
  }
  const contestants = [
    { name: "empty handler", code: plainBundle("empty.ts") },
    { name: "least", code: plainBundle("least.ts") },
    { name: "ingress", code: madeOf("ingress").files.get("index.js") ?? new Uint8Array() },
    { name: "Bolt, SDK clients", code: plainBundle("bolt.ts") },
  ];
  process.stdout.write(`\nfirst answer      KB minified   ms, median of ${rounds}   ratio\n`);
  const medians = await measure(contestants);
  const [baseline = Number.NaN] = medians;
  for (const [index, { name, code }] of contestants.entries()) {
    const ms = medians[index] ?? Number.NaN;
    const cells = [
      kilobytes(code.byteLength).padStart(11),
      ms.toFixed(1).padStart(19),
      (ms / baseline).toFixed(2).padStart(7),
    ];
    process.stdout.write(`${name.padEnd(18)}${cells.join(" ")}\n`);
  }
}

async function measure(contestants: readonly Contestant[]): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-cold-"));
  const stub = await startAwsStub({ secret });
  try {
    const files = contestants.map(({ code }, index) => {
      const file = join(folder, `${index}.cjs`);
      writeFileSync(file, code);
      return { file, times: [] as number[] };
    });
    // The first round only warms the file system up.
    for (let round = 0; round <= rounds; round++) {
      for (const { file, times } of files) {
        const ms = await startCold({ file, awsUrl: stub.url });
        if (round > 0) times.push(ms);
      }
    }
    const expected = (rounds + 1) * (contestants.length - 1);
    if (stub.enqueued() !== expected) throw new Error(`${stub.enqueued()} messages were enqueued, not ${expected}`);
    return files.map(({ times }) => median(times));
  } finally {
    stub.close();
    rmSync(folder, { recursive: true, force: true });
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export type AwsStub = { url: string; enqueued(): number; close(): void };

export async function startAwsStub({ secret }: { secret: string }): Promise<AwsStub> {
  let enqueued = 0;
  const answerTo = (target: unknown, body: string) => {
    if (target !== "AmazonSQS.SendMessage") return { SecretString: secret };
    enqueued += 1;
    // The SDK's client compares it with what it sent.
    return { MessageId: "m-1", MD5OfMessageBody: md5(JSON.parse(body).MessageBody) };
  };
  const server = createServer(async (request, response) => {
    const answer = answerTo(request.headers["x-amz-target"], await text(request));
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(answer));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    enqueued: () => enqueued,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function md5(body: string): string {
  return createHash("md5").update(body).digest("hex");
}
