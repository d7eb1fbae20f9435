/**
 * Bench of cold starts: the bundles as deployed, what they load at a cold start, and for the functions that people wait for the time from
 * the start of their process to the first answer, beside an empty handler's. Beside the ingress: the least that could do, and Bolt doing
 * the same. On request the bundles of another checkout.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, bundleBytes, coldBytes, writeFiles } from "@sekisho/cdk/bundle/bundle.ts";
import { type BundleName, bundleNames } from "@sekisho/cdk/bundle/entry.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { buildSync } from "esbuild";
import { type BenchRun, hasPeer, rank, takeTurns } from "./bench.ts";
import { type AwsStub, startAwsStub } from "./cold/aws-stub.ts";
import { createColdConfig, listColdFunctions } from "./cold/functions.ts";
import { secret } from "./cold/slack-event.ts";
import { type ColdStart, startCold } from "./cold/start.ts";
import { type BenchTable, formatFigure, formatGoal, type Goal, noSlower } from "./table.ts";
import { commitOf } from "./task.ts";

const rounds = 25;

type Contestant = Omit<ColdStart, "event"> & {
  name: string;
  bytes: number;
  event: () => unknown;
  sendsMessage: boolean;
  seen: { tookMs: number[]; processorMs: number[] };
};

/** The ingress's time divided by that of the empty handler. */
const ingressTime: Goal = { atMost: 1.9 };
const functionNames = ["ingress", "worker", "executionUrl"] as const;

export async function benchCold(run: BenchRun): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bench-"));
  const stub = await startAwsStub({ secret });
  try {
    const ours = openProject({ code: ourCode, folder: join(folder, "ours"), stub });
    const other =
      run.beside === undefined
        ? undefined
        : openProject({ code: await loadCode(run.beside), folder: join(folder, "other"), stub });
    const functions = listColdFunctions(stub.url);
    const plain = (name: string, source: string, sendsMessage = true): Contestant => {
      const file = join(folder, `${source}.cjs`);
      const code = plainBundle(source);
      writeFileSync(file, code);
      return {
        ...functions.ingress,
        name,
        file,
        bytes: code.byteLength,
        sendsMessage,
        seen: newSeen(),
      };
    };
    const empty = plain("an empty handler", "empty.ts", false);
    const least = plain("the least that a checkpoint does", "least.ts");
    const [ingress, worker, executionUrl] = functionNames.map((name) =>
      ours.contestant(name, functions[name]),
    );
    const bolt = hasPeer({ run, name: "@slack/bolt" })
      ? [plain("Bolt and the SDK's clients doing what the ingress does", "bolt.ts")]
      : [];
    const others = functionNames.map((name) => other?.contestant(name, functions[name]));
    const own = [ingress, ...bolt, worker, executionUrl];
    const all = [empty, least, ...own, ...others].filter((each) => each !== undefined);
    await takeTurns({
      run,
      usual: rounds,
      warmUps: 1,
      turns: all.map((each) => turnOf(each, stub)),
    });
    const lines = [empty, least, ...own].flatMap((each) =>
      each === undefined ? [] : [coldLine(each, { empty, others })],
    );
    const head = ["", "KB", "time", "processor time"];
    const beside = run.beside === undefined ? [] : [`to ${commitOf(run.beside)}`];
    return [
      {
        name: "cold",
        cells: [
          [...head, ...beside, "goal"],
          ...lines.map((line) => (other ? line : line.toSpliced(4, 1))),
        ],
      },
      bundleTable({ ours, other, beside }),
    ];
  } finally {
    stub.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function newSeen(): Contestant["seen"] {
  return { tookMs: [], processorMs: [] };
}

function turnOf(contestant: Contestant, stub: AwsStub) {
  return async (isCounted: boolean) => {
    const { event, sendsMessage, name, seen } = contestant;
    const before = stub.enqueued();
    const { tookMs, processorMs } = await startCold({ ...contestant, event: event() });
    if (sendsMessage && stub.enqueued() === before) throw new Error(`${name} enqueued no message`);
    if (!isCounted) return;
    seen.tookMs.push(tookMs);
    seen.processorMs.push(processorMs);
  };
}

/** In units of the empty handler. Other work on the machine moves the processor time less than the time until the answer. */
function coldLine(
  contestant: Contestant,
  { empty, others }: { empty: Contestant; others: readonly (Contestant | undefined)[] },
): string[] {
  const { name, bytes, seen } = contestant;
  const time = median(seen.tookMs) / median(empty.seen.tookMs);
  const processor = median(seen.processorMs) / median(empty.seen.processorMs);
  const other = others.find((each) => each?.name === name);
  const toIt = other && median(seen.processorMs) / median(other.seen.processorMs);
  const goals = [
    name === "ingress" ? `time ${formatGoal({ value: time, goal: ingressTime })}` : "",
    toIt === undefined ? "" : formatGoal({ value: toIt, goal: noSlower }),
  ];
  const cells = [
    name,
    formatFigure(bytes / 1000),
    time.toFixed(2),
    processor.toFixed(2),
    toIt?.toFixed(2) ?? "",
  ];
  return [...cells, goals.filter((goal) => goal !== "").join("; ")];
}

function bundleTable(request: {
  ours: Project;
  other: Project | undefined;
  beside: readonly string[];
}): BenchTable {
  const { ours, other, beside } = request;
  const lines = ours.sizes().map(({ name, coldBytes, allBytes }) => {
    const before = other?.sizes().find((each) => each.name === name)?.coldBytes;
    return [
      name,
      formatFigure(coldBytes / 1000),
      formatFigure(allBytes / 1000),
      ...(other === undefined ? [] : [before === undefined ? "" : (coldBytes / before).toFixed(2)]),
    ];
  });
  return {
    name: "bundles",
    cells: [["", "KB at a cold start", "KB in all", ...beside], ...lines],
  };
}

type Project = {
  sizes(): { name: BundleName; coldBytes: number; allBytes: number }[];
  contestant(
    name: (typeof functionNames)[number],
    start: Pick<Contestant, "env" | "event" | "isExpected">,
  ): Contestant;
};

const ourCode = {
  bundle,
  bundleBytes,
  coldBytes,
  writeFiles,
  bundleNames,
  parseConfig,
  createStageConfig,
};
type Code = typeof ourCode;

/** The same functions of another checkout. */
async function loadCode(root: string): Promise<Code> {
  const files = [
    "lib/cdk/bundle/bundle.ts",
    "lib/cdk/bundle/entry.ts",
    "lambdas/config/load.ts",
    "lambdas/config/stage-config.ts",
  ];
  const code: Code = Object.assign(
    {},
    ...(await Promise.all(files.map((file) => import(join(root, file))))),
  );
  // A checkout without this function loads all files at a cold start.
  return { ...code, coldBytes: code.coldBytes ?? code.bundleBytes };
}

/** The bundles of a checkout, made by its own code. */
function openProject({
  code,
  folder,
  stub,
}: {
  code: Code;
  folder: string;
  stub: AwsStub;
}): Project {
  const config = createColdConfig({ awsUrl: stub.url, ...code });
  const stages = code.bundleNames.map((name) => ({
    name,
    ...code.bundle({ name, config, configDirectory: "." }),
  }));
  mkdirSync(folder);
  return {
    sizes: () =>
      stages.map(({ name, files }) => ({
        name,
        coldBytes: code.coldBytes({ name, files }),
        allBytes: code.bundleBytes({ files }),
      })),
    contestant(name, start) {
      const { files } = stages.find((each) => each.name === name) ?? {
        files: new Map<string, Uint8Array>(),
      };
      const [file = ""] = code.writeFiles({ files, folder: join(folder, name) });
      return {
        ...start,
        name,
        file,
        bytes: code.coldBytes({ name, files }),
        sendsMessage: true,
        seen: newSeen(),
      };
    },
  };
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

function median(values: readonly number[]): number {
  return rank(values, 0.5);
}
