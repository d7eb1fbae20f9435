/** The documents name links, files, configuration keys, log lines and commands that exist, and their examples work. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { completionSchema } from "@sekisho/contracts/completion.ts";
import { dialectSchema, listErrorCodes } from "@sekisho/contracts/dialects.ts";
import { requestSchema, responseSchema } from "@sekisho/contracts/envelope.ts";
import { errorDataSchema } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { legacyErrorResultSchema, type MethodName, methods } from "@sekisho/contracts/methods.ts";
import { buildOpenRpc } from "@sekisho/contracts/openrpc.ts";
import type {
  Agent,
  AgentContext,
  AgentTask,
  TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { b, configWith, synthAll } from "../cdk/synth.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { blocksIn, pages, proseOf, root, sectionOf, tablesIn, textOf } from "./pages.ts";

const files = ["bin", "contracts", "examples", "lambdas", "lib", "test"].flatMap((folder) =>
  globSync(`${folder}/**/*.ts`, { cwd: root }),
);

/** The links of a page to the project's own pages and files. */
function linksIn(page: string): string[] {
  const prose = textOf(page).replaceAll(/(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links.filter((target) => !/^https?:/.test(target));
}

/** The anchors that GitHub gives to headings. */
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
  it.each([...pages, "CHANGELOG.md"])(
    "the document %s links only to existing pages, sections and pictures",
    (page) => {
      const dead = linksIn(page).filter((target) => {
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page : join(dirname(page), path);
        return (
          !existsSync(join(root, file)) ||
          (anchor !== undefined && !anchorsIn(file).includes(anchor))
        );
      });
      expect(dead).toEqual([]);
    },
  );

  it("reaches every document from README.md", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      const linked = linksIn(page).map((target) => join(dirname(page), target.split("#")[0] ?? ""));
      for (const other of linked) if (pages.includes(other)) reached.add(other);
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });

  it.each(pages)("the document %s shows only valid JSON and valid configurations", (page) => {
    for (const text of blocksIn(textOf(page), "json")) {
      const json = JSON.parse(text.startsWith("{") ? text : `{${text}}`);
      if (!text.startsWith("{") || page === "docs/reference/contract.md") continue;
      // A message on the wire, or CDK's own cdk.json.
      if ("jsonrpc" in json || "app" in json) continue;
      const routes = "destinations" in json ? json.routes : [];
      const rest =
        routes === undefined
          ? { routes: [{ destination: Object.keys(json.destinations)[0] }] }
          : { routes };
      expect(() => parseConfig({ json: { destinations: {}, ...json, ...rest } })).not.toThrow();
    }
  });

  it.each(pages)("the document %s names only existing files", (page) => {
    const paths = [
      ...textOf(page).matchAll(
        /`((?:bin|contracts|docs|examples|lambdas|lib|test)\/[\w./-]*|[\w./-]+\.ts)`/g,
      ),
    ];
    // A path may begin at the folder that the page, or the row of a table, has named.
    const exists = (path: string) =>
      existsSync(join(root, path)) || files.some((file) => file.endsWith(`/${path}`));
    expect(paths.map(([, path = ""]) => path).filter((path) => !exists(path))).toEqual([]);
  });
});

it("docs/explanation/architecture.md describes every folder of the Verification zone", () => {
  const page = textOf("docs/explanation/architecture.md");
  const folders = globSync("lambdas/verification/*/", { cwd: root }).map((path) =>
    path.replaceAll("\\", "/"),
  );
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter((path) => !page.includes(`\`${path.replace(/\/?$/, "/")}\``))).toEqual([]);
});

it("docs/reference/permissions.md lists exactly the commands that use a stage", async () => {
  const helpOf = async (args: string[]) => (await commandHere([...args, "--help"], {})).stdout;
  const commands = [...(await helpOf([])).matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(
    ([, name = ""]) => name,
  );
  const ofStages: string[] = [];
  for (const name of commands)
    if (/^ {2}--stage /m.test(await helpOf(name.split(" ")))) ofStages.push(name);
  const [rows = []] = tablesIn(textOf("docs/reference/permissions.md"));
  const names = rows.flatMap(([cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  const isNamed = (name: string) => names.some((one) => name === one || name.startsWith(`${one} `));
  expect(ofStages.length).toBeGreaterThan(20);
  expect(ofStages.filter((name) => !isNamed(name))).toEqual([]);
  expect(
    names.filter((one) => !commands.some((name) => name === one || name.startsWith(`${one} `))),
  ).toEqual([]);
});

it("docs/reference/logs-and-metrics.md explains only existing log lines, and all that report a problem", () => {
  const sources = globSync(["lambdas/**/*.ts", "lib/{local,cli/operate}/**/*.ts"], {
    cwd: root,
  }).map(textOf);
  const lines = (levels: string) =>
    new Set(
      sources.flatMap((text) =>
        [...text.matchAll(new RegExp(`\\.(?:${levels})\\(\\s*"(\\w+)"`, "g"))].map(
          ([, line]) => line,
        ),
      ),
    );
  const page = textOf("docs/reference/logs-and-metrics.md");
  // A row of a table of lines begins with their names alone; metrics have a table of their own.
  const explained = [
    ...page.matchAll(/^\| (?!`sekisho_)(`[a-z]+(?:_[a-z]+)+`(?:, `[a-z_]+`)*)/gm),
  ].flatMap(([, names = ""]) => names.replaceAll("`", "").split(", "));
  const logNames = lines("debug|info|warn|error");
  expect(explained.length).toBeGreaterThan(20);
  expect(explained.filter((line) => !logNames.has(line))).toEqual([]);
  expect([...lines("warn|error")].filter((line) => !page.includes(`\`${line}\``))).toEqual([]);
});

describe("docs/how-to/upgrade.md", () => {
  const [table = ""] =
    /switches on by itself[^|]*((?:\|.*\n)+)/.exec(textOf("docs/how-to/upgrade.md")) ?? [];
  const before = {
    destinations: { local: { transport: "https" } },
    routes: [{ destination: "local" }],
  };
  const configWith = (more: object) => parseConfig({ json: { ...before, ...more } });

  it("docs/how-to/upgrade.md lists what is stored and measured by default", () => {
    const { usageHistory, telemetry, operators } = configWith({});
    expect(table).toContain(`for ${usageHistory.retentionDays} days, without texts`);
    expect({ texts: usageHistory.texts, metrics: telemetry.metrics }).toEqual({
      texts: false,
      metrics: true,
    });
    const { exporter } = telemetry.traces;
    expect([exporter.type, operators.authenticator.type]).toEqual(["none", "none"]);
  });

  it("docs/how-to/upgrade.md shows how to turn usage history and metrics off", () => {
    const writtenFields = [...table.matchAll(/`("\w+": \{.*?\})`/g)].map(([, json]) =>
      JSON.parse(`{${json}}`),
    );
    const { usageHistory, telemetry } = configWith(Object.assign({}, ...writtenFields));
    expect({ days: usageHistory.retentionDays, metrics: telemetry.metrics }).toEqual({
      days: 0,
      metrics: false,
    });
  });
});

it("docs/how-to/execution-zone.md and docs/how-to/move.md show the example files unchanged", () => {
  const text = textOf("docs/how-to/execution-zone.md") + textOf("docs/how-to/move.md");
  const example = (path: string) =>
    readFileSync(join(root, "examples/execute-elsewhere", path), "utf8");
  expect(blocksIn(text, "python")).toEqual([example("python/agent.py")]);
  expect(blocksIn(text, "dockerfile")).toEqual([example("python/Dockerfile")]);
  expect(blocksIn(text, "json")).toContain(example("cloud-run/sekisho.config.json"));
});

describe("an agent in the documents", () => {
  const context = {
    readAttachment: async () => new Uint8Array(3),
    signal: new AbortController().signal,
  };

  async function run(code: string, task: Partial<AgentTask>): Promise<TaskUpdate[]> {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-documented-"));
    try {
      writeFileSync(join(folder, "agent.ts"), code);
      const { agent } = (await import(join(folder, "agent.ts"))) as { agent: Agent };
      const whole: AgentTask = { text: "deploy", parts: [], attachments: [], answers: [], ...task };
      const updates: TaskUpdate[] = [];
      for await (const update of runAgent(agent, whole, context as unknown as AgentContext))
        updates.push(update);
      return updates;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it("shows each agent of README.md as a valid configuration", () => {
    const [rows = []] = tablesIn(
      sectionOf(textOf("README.md"), "## Connect the agent that you have"),
    );
    const [arn, harnessArn] = ["runtime/a-AbCdEf1234", "harness/a-AbCdEf1234"].map(
      (id) => `arn:aws:bedrock-agentcore:eu-central-1:123456789012:${id}`,
    );
    for (const [, cell = ""] of rows) {
      const text = cell
        .slice(1, -1)
        .replace('"runtimeArn": "arn:…"', `"runtimeArn": "${arn}"`)
        .replace('"harnessArn": "arn:…"', `"harnessArn": "${harnessArn}"`)
        .replaceAll(/"(url|card|baseUrl)": "…/g, '"$1": "http://127.0.0.1:9000');
      const json = JSON.parse(`{ ${text} }`);
      const routes = json.destinations ? { routes: [{ destination: "home" }] } : {};
      expect(() => parseConfig({ json: { ...json, ...routes } })).not.toThrow();
    }
    expect(rows.length).toBeGreaterThanOrEqual(10);
  });

  it("keeps README.md within 700 words", () => {
    expect(textOf("README.md").split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
  });

  it("runs the agent of README.md, which has at most ten lines", async () => {
    const [code = ""] = blocksIn(textOf("README.md"), "ts");
    expect(code.trim().split("\n").length).toBeLessThanOrEqual(10);
    const last = { type: "answer", text: "You wrote **2 words**." };
    const updates = await run(code, { text: "Good morning" });
    expect(updates).toEqual([expect.objectContaining({ type: "progress" }), last]);
  });

  it("runs the first agent of docs/how-to/agent.md, an async function that returns a text", async () => {
    const [code = ""] = blocksIn(textOf("docs/how-to/agent.md"), "js");
    expect(await run(code, {})).toEqual([{ type: "answer", text: "You wrote: deploy" }]);
  });

  it("runs the agent of docs/how-to/agent.md that reads files, asks, streams and attaches a file", async () => {
    const code =
      blocksIn(textOf("docs/how-to/agent.md"), "ts").find((block) =>
        block.includes("readAttachment"),
      ) ?? "";
    const attachments = [
      { id: "F1", name: "a.txt", mimetype: "text/plain", size: 3, url: "https://files.example/a" },
    ];
    const prompt = "Deploy?";
    const updates = await run(code, { attachments });
    expect(updates.map(({ type }) => type)).toEqual(["question"]);
    const refusal = await run(code, { attachments, answers: [{ prompt, text: "later" }] });
    expect(refusal).toEqual([{ type: "answer", text: "Left as it is. later" }]);
    const done = await run(code, { attachments, answers: [{ prompt, text: "", option_id: "go" }] });
    const steps = ["progress", "progress", "progress", "progress", "artifact", "answer"];
    expect(done.map(({ type }) => type)).toEqual(steps);
    expect(done.at(-1)).toMatchObject({ text: expect.stringContaining("- a.txt: 3 bytes") });
  });
});

const page = textOf("docs/reference/contract.md");
const { components, methods: described } = buildOpenRpc();
type Fields = { properties: Record<string, unknown>; required?: string[] };
const component = (name: string) => components.schemas[name] as Fields;

/** The names of a row: `name`, `mimetype` are two. */
const namesOf = (cell = "") => cell.split(", ").map((name) => name.replaceAll("`", ""));

type Field = { name: string; required: boolean };
const fieldsOf = (rows: string[][] = []): Field[] =>
  rows.flatMap(([names, , required]) =>
    namesOf(names).map((name) => ({ name, required: required === "yes" })),
  );
const byName = (fields: Field[]) => [...fields].sort((a, b) => (a.name < b.name ? -1 : 1));
const fieldsOfSchema = ({ properties, required = [] }: Fields) =>
  Object.keys(properties).map((name) => ({ name, required: required.includes(name) }));

describe("the tables of docs/reference/contract.md", () => {
  it("docs/reference/contract.md lists the methods", () => {
    const [rows = []] = tablesIn(sectionOf(page, "## Methods"));
    expect(rows.flatMap(([name]) => namesOf(name))).toEqual(Object.keys(methods));
  });

  it.each(described.filter(({ params }) => (params as unknown[]).length > 0))(
    "docs/reference/contract.md lists the params of $name",
    ({ name, params }) => {
      const [rows] = tablesIn(sectionOf(page, `### \`${name}\``));
      const wanted = (params as Field[]).map((param) => ({
        name: param.name,
        required: param.required,
      }));
      expect(byName(fieldsOf(rows))).toEqual(byName(wanted));
    },
  );

  it.each([
    ["### `execute_task`", 1, "Attachment"],
    ["### `execute_task`", 2, "HistoryItem"],
    ["### `success`", 0, "SuccessResult"],
    ["### `success`", 1, "Artifact"],
    ["### `accepted`", 0, "AcceptedResult"],
    ["### `input_required`", 0, "InputRequiredResult"],
    ["### `canceled`", 0, "CancelResult"],
  ])("the section %s, table %d, lists the fields of %s", (heading, index, name) => {
    const rows = tablesIn(sectionOf(page, heading))[index];
    expect(byName(fieldsOf(rows))).toEqual(byName(fieldsOfSchema(component(name))));
  });

  it("docs/reference/contract.md lists the data of an error", () => {
    const [rows = []] = tablesIn(sectionOf(page, "### Data of an error"));
    expect(rows.flatMap(([names]) => namesOf(names)).sort()).toEqual(
      Object.keys(errorDataSchema.shape).sort(),
    );
  });

  it("docs/reference/contract.md lists the dialects", () => {
    const [rows = []] = tablesIn(sectionOf(page, "### Dialects"));
    expect(rows.flatMap(([names]) => namesOf(names))).toEqual(dialectSchema.options);
  });
});

describe("the examples of docs/reference/contract.md", () => {
  const examples = blocksIn(page, "json").map((text) => JSON.parse(text));
  const requests = examples.filter((example) => "method" in example);

  it("docs/reference/contract.md shows a valid request of every method", () => {
    expect(requests.map(({ method }) => method)).toEqual(Object.keys(methods));
    for (const request of requests) {
      expect(requestSchema.safeParse(request)).toMatchObject({ success: true });
      expect(methods[request.method as MethodName].params.safeParse(request.params)).toMatchObject({
        success: true,
      });
    }
  });

  it("docs/reference/contract.md shows valid responses of every status", () => {
    const responses = examples.filter((example) => "result" in example || "error" in example);
    const statuses = new Set<string>();
    for (const response of responses) {
      expect(responseSchema.safeParse(response)).toMatchObject({ success: true });
      const { method } = requests.find(({ id }) => id === response.id);
      if (response.error !== undefined) {
        const { code, message, data } = response.error;
        const { reason } = errorDataSchema.parse(data);
        expect(listErrorCodes({ reason, dialect: "zone" })).toContain(code);
        expect(message).toBe(new SekishoError(reason).message);
        continue;
      }
      statuses.add(response.result.status);
      const schema =
        response.result.status === "error"
          ? legacyErrorResultSchema
          : methods[method as MethodName].result;
      expect(schema.safeParse(response.result)).toMatchObject({ success: true });
    }
    expect([...statuses].sort()).toEqual(["accepted", "error", "input_required", "success"]);
  });

  it("docs/reference/contract.md shows one completion push, and no other kind of message", () => {
    const others = examples.filter((example) => !("jsonrpc" in example));
    expect(others.map((example) => completionSchema.safeParse(example).success)).toEqual([true]);
  });
});

/** Together these stages have every alarm: each kind of Execution zone, and every optional part. */
const stages = {
  lambda: configWith({
    stage: { execution: { kind: "lambda", account: b } },
    slack: { install: { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    asker: { issuer: "https://asker.example" },
    destinations: { home: { transport: "https", asker: true } },
    routes: [{ destination: "home" }],
  }),
  agentcore: configWith({
    stage: { execution: { kind: "agentcore" } },
    destinations: { home: { transport: "https" } },
    routes: [{ destination: "home" }],
  }),
};

const alarmRows = textOf("docs/reference/alarms.md").matchAll(
  /^\| `([…\w]+)`[^|]*\|([^|]*)\|([^|]*)\|$/gm,
);

const rows = [...alarmRows].map(([, name = "", means = "", toDo = ""]) => ({
  name,
  means: means.trim(),
  toDo: toDo.trim(),
}));

const families = rows.flatMap(({ name }) => (name.startsWith("…") ? [name.slice(1)] : []));
let alarms: string[] = [];

beforeAll(async () => {
  const made = [...(await synthAll(stages)).values()].flatMap(({ stacks }) => [...stacks.values()]);
  const resources = made.flatMap((stack) => stack.resources);
  const ids = resources.filter(({ type }) => type === "AWS::CloudWatch::Alarm").map(({ id }) => id);
  alarms = [...new Set(ids.map((id) => id.replace(/[0-9A-F]{8}$/, "")))].sort();
});

describe("docs/reference/alarms.md", () => {
  it("docs/reference/alarms.md explains what every alarm means and what to do", () => {
    expect(alarms.length).toBeGreaterThan(15);
    const names = rows.map(({ name }) => name);
    const unexplained = alarms.filter(
      (id) => !names.includes(id) && !families.some((family) => id.endsWith(family)),
    );
    expect(unexplained).toEqual([]);
    expect(rows.filter(({ means, toDo }) => means.length < 20 || toDo.length < 4)).toEqual([]);
  });

  it("docs/reference/alarms.md explains only existing alarms", () => {
    const gone = rows.filter(({ name }) => !name.startsWith("…") && !alarms.includes(name));
    expect(gone).toEqual([]);
    expect(families.filter((family) => !alarms.some((id) => id.endsWith(family)))).toEqual([]);
  });
});

it("docs/reference/alarms.md suggests redelivery of an answer before a retry of the task", () => {
  const toDo = rows.find(({ name }) => name === "AnswersUndelivered")?.toDo ?? "";
  expect(toDo).toMatch(/Deliver again.*tasks retry/);
});
