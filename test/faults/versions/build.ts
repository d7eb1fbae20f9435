/**
 * Builds the next version of both zones: the same sources with another version of records, and a member that this version does not know in
 * every record, queue message, and request and response between the zones. `records`: this version cannot read its records. `messages`: nor
 * the messages in its queues, which have other types.
 */
import { readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { Product } from "./mix.ts";
import { type KindOfNext, kindsOfNext } from "./names.ts";

/** A change of one source. `find` occurs exactly once. */
type Change = { file: string; find: string; replace: string };

const records = "lambdas/runtime/engine/records.ts";
const version = 'recordVersion = "1.0.0"';

const news: readonly Change[] = [
  change(
    "lambdas/runtime/engine/records.ts",
    "JSON.stringify({ ...item, recordVersion })",
    "{ ...item, recordVersion }",
  ),
  change("lambdas/verification/task/encode-message.ts", "JSON.stringify(message)", "message"),
  change("lambdas/execution/tasks/task-message.ts", "JSON.stringify(message)", "message"),
  change("lambdas/execution/tasks/completion-push.ts", "JSON.stringify(completion)", "completion"),
  change(
    "lambdas/verification/transport/runner.ts",
    'JSON.stringify({ jsonrpc: "2.0", id, method, params: sentParams })',
    '{ jsonrpc: "2.0", id, method, params: sentParams }',
  ),
  change("lambdas/execution/exchange.ts", "JSON.stringify(body)", "body"),
  {
    file: "lambdas/execution/exchange.ts",
    find: "toWellFormedJson(body)",
    replace: "toWellFormedJson(withNews(body))",
  },
];

const changes: Readonly<Record<KindOfNext, readonly Change[]>> = {
  minor: [
    {
      file: "lambdas/runtime/engine/record-version.ts",
      find: version,
      replace: 'recordVersion = "1.1.0"',
    },
    ...news,
  ],
  records: [
    {
      file: "lambdas/runtime/engine/record-version.ts",
      find: version,
      replace: 'recordVersion = "2.0.0"',
    },
    ...news.filter(({ file }) => file !== records),
    change(records, "JSON.stringify({ ...item, recordVersion })", "{ recordVersion, item }"),
    {
      file: records,
      find: "json = JSON.parse(text);",
      replace:
        "json = JSON.parse(text); json = { ...(json.item ?? json), recordVersion: json.recordVersion };",
    },
  ],
  messages: [
    ...news.filter(({ file }) => !/encode-message|task-message/.test(file)),
    change(
      "lambdas/verification/task/encode-message.ts",
      "JSON.stringify(message)",
      '{ ...message, type: "next_" + message.type }',
    ),
    {
      file: "lambdas/verification/task/messages.ts",
      find: "const json: unknown = JSON.parse(body);",
      replace:
        'const json = JSON.parse(body); json.type = String(json.type).replace(/^next_/, "");',
    },
    change(
      "lambdas/execution/tasks/task-message.ts",
      "return JSON.stringify(message)",
      "{ next: message }",
      "return ",
    ),
    {
      file: "lambdas/execution/tasks/task-message.ts",
      find: "return taskMessageSchema.parse(JSON.parse(body));",
      replace: "const json = JSON.parse(body); return taskMessageSchema.parse(json.next ?? json);",
    },
  ],
};

function change(file: string, find: string, value: string, oldValue = ""): Change {
  return { file, find, replace: `${oldValue}JSON.stringify(withNews(${value}))` };
}

/** Members of these are no names of ours, so that nothing may be added to them. */
const withNews = `
const withoutNews = new Set(["undeliveredAttempts", "votes", "values", "fields", "usage", "data", "metadata"]);
function withNews(value) {
  if (Array.isArray(value)) return value.map(withNews);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutNews.has(name) ? member : withNews(member)]);
  return { ...Object.fromEntries(members), addedByNext: "a member of the next version" };
}
`;

const ownRoot = join(import.meta.dirname, "../../..");

/** The files of the builds. */
type Built = { old: string | undefined } & Record<KindOfNext, string>;

/** `oldRoot` is a checkout of the release that is the old version. Without it, that is this one. */
export async function buildVersions(oldRoot: string | undefined): Promise<Built> {
  const old =
    oldRoot === undefined
      ? undefined
      : await buildProduct({ root: resolve(oldRoot), kind: "as_it_is" });
  const next = async (kind: KindOfNext) =>
    [kind, await buildProduct({ root: ownRoot, kind })] as const;
  return { old, ...Object.fromEntries(await Promise.all(kindsOfNext.map(next))) } as Built;
}

/** Loads the builds, which like the product itself must be loaded after time was replaced. */
export async function loadVersions({ old, ...next }: Built): Promise<void> {
  const { useBuilds } = await import("./mix.ts");
  const load = async (path: string) => (await import(pathToFileURL(path).href)) as Product;
  const oldProduct =
    old === undefined ? ((await import("./product.ts")) as Product) : await load(old);
  const [minor, records, messages] = [
    await load(next.minor),
    await load(next.records),
    await load(next.messages),
  ];
  useBuilds({ old: oldProduct, minor, records, messages });
  for (const path of [old, ...Object.values(next)]) if (path !== undefined) rmSync(path);
}

async function buildProduct({
  root,
  kind,
}: {
  root: string;
  kind: KindOfNext | "as_it_is";
}): Promise<string> {
  const outfile = join(root, "node_modules/.cache/sekisho-versions", `${kind}-${process.pid}.mjs`);
  const left = new Set(kind === "as_it_is" ? [] : changes[kind]);
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, "test/faults/versions/product.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    banner: { js: withNews },
    logLevel: "error",
    plugins: [
      {
        name: "changes",
        setup({ onLoad, onResolve }) {
          // The packages of others. Ours are part of the build.
          onResolve({ filter: /^[^./]/ }, ({ path }) =>
            path.startsWith("@sekisho/") ? undefined : { path, external: true },
          );
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            let contents = readFileSync(path, "utf8");
            for (const one of [...left].filter(({ file }) => file === relative(root, path))) {
              const pieces = contents.split(one.find);
              if (pieces.length !== 2)
                throw new Error(`"${one.find}" is ${pieces.length - 1} times in ${one.file}.`);
              contents = pieces.join(one.replace);
              left.delete(one);
            }
            return { contents, loader: "ts" };
          });
        },
      },
    ],
  });
  const [unused] = left;
  if (unused !== undefined) throw new Error(`${unused.file} is not part of the build.`);
  return outfile;
}
