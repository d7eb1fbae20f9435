import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Agent, AgentContext, AgentTask, TaskUpdate } from "../../lambdas/execution/agents/agent.ts";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { commandHere } from "../cli/aws/command-here.ts";

const root = resolve(import.meta.dirname, "../..");
const pages = ["README.md", ...globSync(["docs/*.md", "docs/decisions/*.md"], { cwd: root })];
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

function blocksIn(page: string, language: string): string[] {
  const blocks = [...textOf(page).matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)];
  return blocks
    .filter(([, , given]) => given === language)
    .map(([, indent = "", , text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** As GitHub makes them. */
function anchorsIn(page: string): string[] {
  const prose = textOf(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

describe("every document", () => {
  it.each(pages)("leads to pages, sections and pictures that there are: %s", (page) => {
    const prose = textOf(page).replaceAll(/(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "");
    const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const inside = links.filter((target) => !/^https?:/.test(target));
    const dead = inside.filter((target) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsIn(file).includes(anchor));
    });
    expect(dead).toEqual([]);
  });

  it.each(pages)("names commands and options that there are: %s", async (page) => {
    const wrong: string[] = [];
    for (const [written, words = "", rest = ""] of textOf(page).matchAll(
      /npx sekisho ((?:[a-z]+(?:-[a-z]+)* ?){1,2})([^`\n#]*)/g,
    )) {
      const { stdout, code } = await commandHere([...words.trim().split(" "), "--help"], {});
      const unknown = (rest.match(/--[a-z-]+/g) ?? []).filter((option) => !`${stdout} --help`.includes(option));
      if (code !== 0 || unknown.length > 0) wrong.push(written);
    }
    expect(wrong).toEqual([]);
  });

  it.each(pages)("shows JSON that is some, and configurations that can be used: %s", (page) => {
    for (const text of blocksIn(page, "json")) {
      const json = JSON.parse(text.startsWith("{") ? text : `{${text}}`);
      if (!text.startsWith("{") || "jsonrpc" in json) continue;
      const routes = "destinations" in json ? json.routes : [];
      const rest = routes === undefined ? { routes: [{ destination: Object.keys(json.destinations)[0] }] } : { routes };
      expect(() => parseConfig({ json: { destinations: {}, ...json, ...rest } })).not.toThrow();
    }
  });
});

describe("docs/security.md and docs/reliability.md", () => {
  it.each(["docs/security.md", "docs/reliability.md"])("name files and tests that there are: %s", (page) => {
    const named = [...textOf(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(20);
    const folders = ["bin", "contracts", "lambdas", "lib", "test"];
    const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));
    // A path may begin where the page, or the row, says that all do.
    const missing = named.filter((path) => !files.some((file) => file === path || file.endsWith(`/${path}`)));
    expect(missing).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  it("names files and folders that exist", () => {
    const named = [...textOf("docs/architecture.md").matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(80);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("describes every folder of the Verification zone", () => {
    const page = textOf("docs/architecture.md");
    const folders = globSync("lambdas/verification/*/", { cwd: root }).map((path) => path.replaceAll("\\", "/"));
    expect(folders.length).toBeGreaterThan(5);
    expect(folders.filter((path) => !page.includes(`\`${path.replace(/\/?$/, "/")}\``))).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  it("explains lines that are written to the log, and knows every one that says that something is wrong", () => {
    const files = globSync(["lambdas/**/*.ts", "lib/local/**/*.ts"], { cwd: root }).map(textOf);
    const lines = (levels: string) =>
      new Set(
        files.flatMap((text) =>
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
});

describe("docs/agent.md", () => {
  it("shows an agent that reads files, asks, tells its answer while it writes, and attaches a file", async () => {
    const [, code = ""] = blocksIn("docs/agent.md", "ts");
    const folder = mkdtempSync(join(tmpdir(), "sekisho-documented-"));
    try {
      writeFileSync(join(folder, "agent.ts"), code);
      const { agent } = (await import(join(folder, "agent.ts"))) as { agent: Agent };
      const attachments = [
        { id: "F1", name: "a.txt", mimetype: "text/plain", size: 3, url: "https://files.example/a" },
      ];
      const context = { readAttachment: async () => new Uint8Array(3) } as unknown as AgentContext;
      const run = async (answers: AgentTask["answers"]): Promise<TaskUpdate[]> => {
        const updates: TaskUpdate[] = [];
        for await (const update of agent({ text: "deploy", parts: [], attachments, answers }, context))
          updates.push(update);
        return updates;
      };
      const prompt = "Deploy?";
      expect((await run([])).map(({ type }) => type)).toEqual(["question"]);
      expect(await run([{ prompt, text: "later" }])).toEqual([{ type: "answer", text: "Left as it is. later" }]);
      const told = await run([{ prompt, text: "", option_id: "go" }]);
      expect(told.map(({ type }) => type)).toEqual([
        "progress",
        "progress",
        "progress",
        "progress",
        "artifact",
        "answer",
      ]);
      expect(told.at(-1)).toMatchObject({ text: expect.stringContaining("- a.txt: 3 bytes") });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
