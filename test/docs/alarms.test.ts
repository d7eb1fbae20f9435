/** The runbook explains every alarm of the templates, and no other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { b, configWith, synthAll } from "../cdk/synth.ts";
import { root } from "./commands/documented.ts";

/** Together these stages have every alarm: each kind of Execution zone, and every optional part. */
const stages = {
  lambda: configWith({
    stage: { execution: { kind: "lambda", account: b } },
    slack: { install: { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    destinations: { home: { transport: "https" } },
    routes: [{ destination: "home" }],
  }),
  agentcore: configWith({
    stage: { execution: { kind: "agentcore" } },
    destinations: { home: { transport: "https" } },
    routes: [{ destination: "home" }],
  }),
};

const page = readFileSync(join(root, "docs/operations.md"), "utf8");
const [, section = ""] = /^## When an alarm comes\n([\s\S]*?)^## /m.exec(page) ?? [];
const rows = [...section.matchAll(/^\| `([…\w]+)`[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(
  ([, name = "", means = "", toDo = ""]) => ({ name, means: means.trim(), toDo: toDo.trim() }),
);
const families = rows.flatMap(({ name }) => (name.startsWith("…") ? [name.slice(1)] : []));

let alarms: string[] = [];
beforeAll(async () => {
  const made = [...(await synthAll(stages)).values()].flatMap(({ stacks }) => [...stacks.values()]);
  const resources = made.flatMap((stack) => stack.resources);
  const ids = resources.filter(({ type }) => type === "AWS::CloudWatch::Alarm").map(({ id }) => id);
  alarms = [...new Set(ids.map((id) => id.replace(/[0-9A-F]{8}$/, "")))].sort();
}, 200_000);

describe("docs/operations.md, when an alarm comes", () => {
  it("explains every alarm of the templates: what it means and what to do", () => {
    expect(alarms.length).toBeGreaterThan(15);
    const named = rows.map(({ name }) => name);
    const unexplained = alarms.filter((id) => !named.includes(id) && !families.some((family) => id.endsWith(family)));
    expect(unexplained).toEqual([]);
    expect(rows.filter(({ means, toDo }) => means.length < 20 || toDo.length < 4)).toEqual([]);
  });

  it("explains none that there is not", () => {
    const gone = rows.filter(({ name }) => !name.startsWith("…") && !alarms.includes(name));
    expect(gone).toEqual([]);
    expect(families.filter((family) => !alarms.some((id) => id.endsWith(family)))).toEqual([]);
  });
});

it("an answer that was not delivered is delivered again, before an agent is made to run twice", () => {
  const toDo = rows.find(({ name }) => name === "AnswersUndelivered")?.toDo ?? "";
  expect(toDo).toMatch(/Deliver again.*tasks retry/);
});
