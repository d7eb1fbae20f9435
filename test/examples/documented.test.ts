import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { formatTextReport } from "../../lib/cli/conformance/reports.ts";
import { commandHere } from "../cli/aws/command-here.ts";

const root = resolve(import.meta.dirname, "../..");
/** The two that follow the examples of `examples/execute-elsewhere`. */
const page = ["docs/execution-zone.md", "docs/move.md"]
  .map((name) => readFileSync(join(root, name), "utf8"))
  .join("\n");
const blocks = blocksIn(page);

function blocksIn(text: string): { language: string; text: string }[] {
  const found = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return found.map(([, language = "", text = ""]) => ({ language, text }));
}

function blocksOf(language: string): string[] {
  return blocks.filter((block) => block.language === language).map(({ text }) => text);
}

function fileText(path: string): string {
  return readFileSync(join(root, "examples/execute-elsewhere", path), "utf8");
}

describe("docs/a2a.md", () => {
  it("shows a configuration that can be used as it is", () => {
    const a2a = blocksIn(readFileSync(join(root, "docs/a2a.md"), "utf8"));
    const [text = "", ...others] = a2a.flatMap((block) => (block.language === "json" ? [block.text] : []));
    expect(others).toEqual([]);
    expect(parseConfig({ json: JSON.parse(text) }).execution.a2a.name).toBe("Clerk");
  });
});

describe("docs/execution-zone.md and docs/move.md", () => {
  it("shows the files as they are", () => {
    expect(blocksOf("python")).toEqual([fileText("python/agent.py")]);
    expect(blocksOf("dockerfile")).toEqual([fileText("python/Dockerfile")]);
    expect(blocksOf("json")).toContain(fileText("cloud-run/sekisho.config.json"));
  });

  it.each(blocksOf("json").map((text) => [text]))("shows configurations that can be used: %s", (text) => {
    const json = JSON.parse(text);
    // What is for the Execution zone alone says nothing of where tasks come from.
    const whole = "destinations" in json ? json : { ...json, destinations: {}, routes: [] };
    expect(() => parseConfig({ json: whole })).not.toThrow();
  });

  it("names files that there are", () => {
    const paths = [...page.matchAll(/\b(?:examples|contracts)\/[\w./-]+\.\w+/g)].map(([path]) => path);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of new Set(paths)) expect(readFileSync(join(root, path), "utf8")).not.toBe("");
  });

  it("names commands and options that there are", async () => {
    const commands = [...page.matchAll(/npx sekisho ((?:[a-z]+ ?){1,2})([^`\n#]*)/g)];
    expect(commands.length).toBeGreaterThan(8);
    for (const [written, words = "", rest = ""] of commands) {
      const [first = "", second = ""] = words.trim().split(" ");
      const { stdout, code } = await commandHere([first, second, "--help"].filter(Boolean), {});
      expect({ written, code }).toEqual({ written, code: 0 });
      const missing = (rest.match(/--[a-z-]+/g) ?? []).filter(
        (option) => option !== "--help" && !stdout.includes(option),
      );
      expect({ written, missing }).toEqual({ written, missing: [] });
    }
  });

  it("says what the conformance command says at its end", () => {
    const status = formatTextReport({ endpoint: "http://127.0.0.1:8080/", reports: [] }).split("\n").at(-1);
    expect(blocksOf("").map((text) => text.trim())).toEqual([status]);
  });
});
