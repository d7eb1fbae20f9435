/** What the documents promise about the project: links, files, configurations, examples and commands that exist. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Agent, AgentContext, AgentTask, TaskUpdate } from "../../lambdas/execution/agents/agent.ts";
import { configJsonSchema } from "../../lambdas/shared/config/json-schema.ts";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { blocksIn, pages, proseOf, root, tablesIn, textOf } from "./commands/documented.ts";

const files = ["bin", "contracts", "examples", "lambdas", "lib", "test"].flatMap((folder) =>
  globSync(`${folder}/**/*.ts`, { cwd: root }),
);

/** The links of a page to the project's own pages and files. */
function linksIn(page: string): string[] {
  const prose = textOf(page).replaceAll(/(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links.filter((target) => !/^https?:/.test(target));
}

/** As GitHub makes them. */
function anchorsIn(page: string): string[] {
  return [...proseOf(textOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

describe("every document", () => {
  it.each([...pages, "CHANGELOG.md"])("links to pages, sections and pictures that exist: %s", (page) => {
    const dead = linksIn(page).filter((target) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsIn(file).includes(anchor));
    });
    expect(dead).toEqual([]);
  });

  it("is reached from README.md", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      const linked = linksIn(page).map((target) => join(dirname(page), target.split("#")[0] ?? ""));
      for (const other of linked) if (pages.includes(other)) reached.add(other);
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });

  it.each(pages)("shows valid JSON, and valid configurations: %s", (page) => {
    for (const text of blocksIn(textOf(page), "json")) {
      const json = JSON.parse(text.startsWith("{") ? text : `{${text}}`);
      if (!text.startsWith("{") || page === "docs/contract.md" || "jsonrpc" in json) continue;
      const routes = "destinations" in json ? json.routes : [];
      const rest = routes === undefined ? { routes: [{ destination: Object.keys(json.destinations)[0] }] } : { routes };
      expect(() => parseConfig({ json: { destinations: {}, ...json, ...rest } })).not.toThrow();
    }
  });

  it.each(pages)("names files that exist: %s", (page) => {
    const paths = [
      ...textOf(page).matchAll(/`((?:bin|contracts|docs|examples|lambdas|lib|test)\/[\w./-]*|[\w./-]+\.ts)`/g),
    ];
    // A path may begin at the folder that the page, or the row of a table, has named.
    const exists = (path: string) => existsSync(join(root, path)) || files.some((file) => file.endsWith(`/${path}`));
    expect(paths.map(([, path = ""]) => path).filter((path) => !exists(path))).toEqual([]);
  });
});

it("README.md has at most 900 words", () => {
  expect(textOf("README.md").split(/\s+/).length).toBeLessThan(900);
});

it("docs/architecture.md describes every folder of the Verification zone", () => {
  const page = textOf("docs/architecture.md");
  const folders = globSync("lambdas/verification/*/", { cwd: root }).map((path) => path.replaceAll("\\", "/"));
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter((path) => !page.includes(`\`${path.replace(/\/?$/, "/")}\``))).toEqual([]);
});

it("docs/commands.md lists every command of the help, and no other", async () => {
  const { stdout } = await commandHere(["--help"], {});
  const commands = [...stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(([, name = ""]) => name);
  const usages = tablesIn(textOf("docs/commands.md")).flatMap((rows) => rows.map(([usage = ""]) => usage));
  expect(commands.length).toBeGreaterThan(30);
  expect([...new Set(usages.flatMap((usage) => namesIn(usage, commands)))].sort()).toEqual([...commands].sort());
});

/** `tasks list \| show ID` are two; `send TEXT` is one. */
function namesIn(usage: string, commands: readonly string[]): string[] {
  const [first = "", ...rest] = usage
    .replaceAll("`", "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .split(/[\s\\|]+/);
  const isGroup = commands.some((name) => name.startsWith(`${first} `));
  const seconds = rest.filter((word) => /^[a-z]+$/.test(word));
  return isGroup && seconds.length > 0 ? seconds.map((second) => `${first} ${second}`) : [first];
}

it("docs/configuration.md names every key of the configuration", () => {
  const page = textOf("docs/configuration.md");
  const keys = [...new Set(keysOf(JSON.parse(configJsonSchema())))];
  expect(keys.length).toBeGreaterThan(100);
  const isNamed = (key: string) => new RegExp(`["\`.]${key.replace("$", "\\$")}(?:\\[\\])?["\`.]`).test(page);
  // The skills of an agent card, a key's id and a provider are explained in docs/a2a.md.
  const ofCards = ["id", "tags", "examples", "organization", "key", "keyId", "algorithm", "jku", "allowLoopback"];
  expect(keys.filter((key) => !isNamed(key) && !ofCards.includes(key))).toEqual([]);
});

function keysOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, unknown> };
  const inner = Object.entries(schema).flatMap(([name, value]) => (name === "properties" ? [] : keysOf(value)));
  return [...Object.keys(properties), ...Object.values(properties).flatMap(keysOf), ...inner];
}

it("docs/operations.md explains lines that are written to the log, and knows every one that says that something is wrong", () => {
  const sources = globSync(["lambdas/**/*.ts", "lib/local/**/*.ts"], { cwd: root }).map(textOf);
  const lines = (levels: string) =>
    new Set(
      sources.flatMap((text) =>
        [...text.matchAll(new RegExp(`\\.(?:${levels})\\(\\s*"(\\w+)"`, "g"))].map(([, line]) => line),
      ),
    );
  const page = textOf("docs/operations.md");
  // A row of a table of lines begins with their names alone; metrics have a table of their own.
  const explained = [...page.matchAll(/^\| (?!`sekisho_)(`[a-z]+(?:_[a-z]+)+`(?:, `[a-z_]+`)*)/gm)].flatMap(
    ([, names = ""]) => names.replaceAll("`", "").split(", "),
  );
  const written = lines("debug|info|warn|error");
  expect(explained.length).toBeGreaterThan(20);
  expect(explained.filter((line) => !written.has(line))).toEqual([]);
  expect([...lines("warn|error")].filter((line) => !page.includes(`\`${line}\``))).toEqual([]);
});

describe("docs/upgrade.md", () => {
  const [table = ""] = /switches on by itself[^|]*((?:\|.*\n)+)/.exec(textOf("docs/upgrade.md")) ?? [];
  const before = { destinations: { local: { transport: "https" } }, routes: [{ destination: "local" }] };
  const configWith = (more: object) => parseConfig({ json: { ...before, ...more } });

  it("names what is kept and measured without being asked for", () => {
    const { usageHistory, telemetry, operators } = configWith({});
    expect(table).toContain(`for ${usageHistory.retentionDays} days, without texts`);
    expect({ texts: usageHistory.texts, metrics: telemetry.metrics }).toEqual({ texts: false, metrics: true });
    const { exporter } = telemetry.traces;
    expect([exporter.type, operators.authenticator.type]).toEqual(["none", "none"]);
  });

  it("says what to write to switch it off", () => {
    const written = [...table.matchAll(/`("\w+": \{.*?\})`/g)].map(([, json]) => JSON.parse(`{${json}}`));
    const { usageHistory, telemetry } = configWith(Object.assign({}, ...written));
    expect({ days: usageHistory.retentionDays, metrics: telemetry.metrics }).toEqual({ days: 0, metrics: false });
  });
});

it("docs/execution-zone.md and docs/move.md show the files of the examples as they are", () => {
  const text = textOf("docs/execution-zone.md") + textOf("docs/move.md");
  const example = (path: string) => readFileSync(join(root, "examples/execute-elsewhere", path), "utf8");
  expect(blocksIn(text, "python")).toEqual([example("python/agent.py")]);
  expect(blocksIn(text, "dockerfile")).toEqual([example("python/Dockerfile")]);
  expect(blocksIn(text, "json")).toContain(example("cloud-run/sekisho.config.json"));
});

describe("an agent of the documents", () => {
  const context = { readAttachment: async () => new Uint8Array(3), signal: new AbortController().signal };

  async function run(code: string, task: Partial<AgentTask>): Promise<TaskUpdate[]> {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-documented-"));
    try {
      writeFileSync(join(folder, "agent.ts"), code);
      const { agent } = (await import(join(folder, "agent.ts"))) as { agent: Agent };
      const whole: AgentTask = { text: "deploy", parts: [], attachments: [], answers: [], ...task };
      const updates: TaskUpdate[] = [];
      for await (const update of agent(whole, context as unknown as AgentContext)) updates.push(update);
      return updates;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it("runs in ten lines, as README.md shows it", async () => {
    const [code = ""] = blocksIn(textOf("README.md"), "ts");
    expect(code.trim().split("\n").length).toBeLessThanOrEqual(10);
    const { fetch } = globalThis;
    globalThis.fetch = async (_url, options) => new Response(`read: ${options?.body}`);
    try {
      const last = { type: "answer", text: "read: deploy" };
      expect(await run(code, {})).toEqual([expect.objectContaining({ type: "progress" }), last]);
    } finally {
      globalThis.fetch = fetch;
    }
  });

  it("reads files, asks, streams its answer and attaches a file, as docs/agent.md shows it", async () => {
    const [, code = ""] = blocksIn(textOf("docs/agent.md"), "ts");
    const attachments = [{ id: "F1", name: "a.txt", mimetype: "text/plain", size: 3, url: "https://files.example/a" }];
    const prompt = "Deploy?";
    const asked = await run(code, { attachments });
    expect(asked.map(({ type }) => type)).toEqual(["question"]);
    const refused = await run(code, { attachments, answers: [{ prompt, text: "later" }] });
    expect(refused).toEqual([{ type: "answer", text: "Left as it is. later" }]);
    const done = await run(code, { attachments, answers: [{ prompt, text: "", option_id: "go" }] });
    const steps = ["progress", "progress", "progress", "progress", "artifact", "answer"];
    expect(done.map(({ type }) => type)).toEqual(steps);
    expect(done.at(-1)).toMatchObject({ text: expect.stringContaining("- a.txt: 3 bytes") });
  });
});
