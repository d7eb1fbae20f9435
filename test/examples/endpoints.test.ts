/** The examples that are endpoints: zones in Python and Go, and apps of Express and Hono that serve our host. Each runs as its README says. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { checkEndpoint } from "@sekisho/conformance/index.ts";
import { eventually } from "../execution/test-host.ts";
import {
  addressOf,
  answerWithoutBody,
  type Command,
  type ExampleProcess,
  spawnExample,
} from "./example-process.ts";

const examples = resolve(import.meta.dirname, "../../examples");
const built = mkdtempSync(join(tmpdir(), "sekisho-examples-"));
const token = "t0ken-of-the-test-0123";
const mount = "/agents/sekisho";
const { PATH = "", HOME = "" } = process.env;
/** Nothing can be fetched, so that a package beyond the standard library does not build. */
const goEnv = { PATH, HOME, GOPROXY: "off", GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" };
const goIn = join(examples, "go-zone");
const go = (...args: string[]) =>
  spawnSync("go", args, { cwd: goIn, env: goEnv, encoding: "utf8" });

const hasPython =
  spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).status === 0;
const hasGo = go("version").status === 0;

type Example = {
  name: string;
  path: string;
  command: Command;
  /** Ours keep their tasks by the contract; those in another language have code of their own for it. */
  isOurHost: boolean;
  whyNot?: string | false;
};
const nodeApp = (name: string, folder: string): Example => ({
  name,
  path: mount,
  command: { command: process.execPath, args: ["server.ts"], cwd: join(examples, folder) },
  isOurHost: true,
});
const all: Example[] = [
  {
    name: "the zone in Python",
    path: "/",
    // Without the packages of the site, so that an import beyond the standard library fails.
    command: {
      command: "python3",
      args: ["-S", "-s", "-E", "zone.py"],
      cwd: join(examples, "python-zone"),
    },
    isOurHost: false,
    whyNot: !hasPython && "there is no python3 of version 3.11 or newer",
  },
  {
    name: "the zone in Go",
    path: "/",
    command: { command: join(built, "zone"), args: [], cwd: goIn },
    isOurHost: false,
    whyNot: !hasGo && "there is no go",
  },
  nodeApp("the Express app", "express-app"),
  nodeApp("the Hono app", "hono-app"),
];
const present = all.filter(({ whyNot }) => !whyNot);
const rows = present.map((example) => [example.name, example] as const);
const ofOtherLanguages = rows.filter(([, { isOurHost }]) => !isOurHost);
const apps = rows.filter(([, { isOurHost }]) => isOurHost);

const running = new Map<string, { example: ExampleProcess; url: string }>();
async function start({ command, path }: Example) {
  const example = spawnExample(command, { AGENT_TOKEN: token });
  return { example, url: (await addressOf(example)) + path };
}
const urlOf = ({ name }: Example) => running.get(name)?.url ?? "";

type Report = Exclude<Awaited<ReturnType<typeof checkEndpoint>>, { unreachable: string }>;
const reports = new Map<string, Report | { unreachable: string }>();

beforeAll(async () => {
  if (hasGo)
    expect(go("build", "-o", join(built, "zone"), ".")).toMatchObject({ status: 0, stderr: "" });
  for (const [name, example] of rows) running.set(name, await start(example));
  // At the same time, because each run mostly waits.
  const check = async (example: Example) => {
    const texts = { slow: "wait 3", stream: "wait 3", fail: "fail" };
    const waits = { secondLookMs: 1000, lastLookMs: 1000 };
    const options = { token, texts, isIdempotent: true, level: "strict" as const, waits };
    reports.set(example.name, await checkEndpoint({ url: new URL(urlOf(example)), ...options }));
  };
  await Promise.all(present.map(check));
});
afterAll(() => {
  for (const { example } of running.values()) example.child.kill("SIGKILL");
  rmSync(built, { recursive: true });
});

for (const { name, whyNot } of all) if (whyNot) it.skip(`leaves out ${name}: ${whyNot}`, () => {});

async function call(url: string, method: string, params: object, id: string = randomUUID()) {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  type Result = { status: string; task_id: string; progress?: { partial_text?: string } };
  type Answer = { result?: Result; error?: { code: number } };
  return { status: response.status, ...((await response.json()) as Answer) };
}

describe.each(rows)("%s", (_name, example) => {
  it("fulfills the strict contract, deduplicates, and leaks nothing", () => {
    const report = reports.get(example.name);
    if (report === undefined || "unreachable" in report) throw new Error(report?.unreachable);
    expect(report.cases.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(report.kept).toBe(true);
    const passed = report.cases
      .filter(({ outcome }) => outcome === "passed")
      .map((one) => one.name);
    const ofLongTasks = [
      "accepted/partial-text",
      "cancel/then-read",
      "ended/success",
      "second-look/canceled",
    ];
    const ofRepeated = [
      "idempotency/same-outcome",
      "idempotency/other-content",
      "second-look/repeated-slow",
    ];
    expect(passed).toEqual(expect.arrayContaining([...ofLongTasks, ...ofRepeated]));
    expect(passed.length).toBeGreaterThan(120);
  });

  it("refuses to start without a token", async () => {
    for (const short of ["", "short"]) {
      const { ended: exit, output } = spawnExample(example.command, { AGENT_TOKEN: short });
      expect(await exit).toBe(1);
      expect(output()).toContain("token");
    }
  });

  it("checks the token and the size before it reads a body", async () => {
    const url = urlOf(example);
    expect(await answerWithoutBody(url, ["content-length: 50"])).toContain(" 401 ");
    const known = [`authorization: Bearer ${token}`, "content-type: application/json"];
    expect(await answerWithoutBody(url, [...known, "content-length: 262145"])).toMatch(
      / 413 |-32075/,
    );
  });

  it("completes the running answer on SIGTERM, and then ends", async () => {
    const { example: ending, url } = await start(example);
    const id = randomUUID();
    const { result } = await call(url, "execute_task", { text: "wait 2" }, id);
    const read = call(url, "get_task", { task_id: result?.task_id, wait_ms: 20_000 });
    // The zone has this call when it answers the next one on its way.
    await call(url, "get_task", { request_id: id });
    ending.child.kill("SIGTERM");
    expect((await read).result?.status).toMatch(/^(accepted|success)$/);
    expect(await ending.ended).toBe(0);
  });
});

// Not by describe.each, which wants at least one: there may be neither Python nor Go.
for (const [name, example] of ofOtherLanguages)
  describe(`${name} with its own task code`, () => {
    it("reports that the agent failed, but not why", async () => {
      const { example: failing, url } = await start(example);
      const { error } = await call(url, "execute_task", { text: "fail" });
      expect(error).toMatchObject({ code: -32064 });
      await eventually(() => failing.output().includes("The agent failed"));
      expect(JSON.stringify(error) + failing.output()).not.toContain("nobody reads this");
      failing.child.kill("SIGKILL");
    });

    it("holds a poll until there is more of the answer", async () => {
      const url = urlOf(example);
      const { result } = await call(url, "execute_task", { text: "wait 4" });
      const poll = async () =>
        (await call(url, "get_task", { task_id: result?.task_id, wait_ms: 20_000 })).result;
      const [first, second] = [await poll(), await poll()];
      expect([first?.status, second?.status]).toEqual(["accepted", "accepted"]);
      const [oldValue = "", newValue = ""] = [
        first?.progress?.partial_text,
        second?.progress?.partial_text,
      ];
      expect(newValue.startsWith(oldValue) && newValue.length > oldValue.length).toBe(true);
    });

    it("refuses more than 32 concurrent tasks, until one is canceled", async () => {
      const { example: full, url } = await start(example);
      const wait = () => call(url, "execute_task", { text: "wait 600" });
      const started = await Promise.all(Array.from({ length: 32 }, wait));
      expect(started.map(({ result }) => result?.status)).toEqual(started.map(() => "accepted"));
      expect(await wait()).toMatchObject({
        status: 429,
        error: { code: -32070, data: { retryable: true } },
      });
      await call(url, "cancel_task", { task_id: started[0]?.result?.task_id });
      // The place is free once the agent itself has stopped.
      await eventually(async () => (await wait()).result?.status === "accepted");
      full.child.kill("SIGKILL");
    });
  });

describe.each(apps)("%s", (_name, example) => {
  it("serves its own routes, with a body parser", async () => {
    const { origin } = new URL(urlOf(example));
    const headers = { "content-type": "application/json" };
    const greet = await fetch(`${origin}/greetings`, {
      method: "POST",
      headers,
      body: '{"name":"Kim"}',
    });
    expect(await greet.json()).toEqual({ greeting: "Hello, Kim!" });
  });

  it("serves the zone only at its path and below", async () => {
    const url = urlOf(example);
    for (const path of ["", "/", "/invocations", "?a=b"]) {
      expect(await call(url + path, "get_task", { request_id: randomUUID() })).toMatchObject({
        error: { code: -32061 },
      });
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const headers = { authorization: `Bearer ${token}` };
    for (const other of [`${url}-of-another`, `${url}/nothing`, new URL("/", url).href]) {
      expect((await fetch(other, { method: "POST", headers, body: "{}" })).status).toBe(404);
    }
  });
});

(hasGo ? it : it.skip)(
  `the zone in Go is formatted, vetted, and has no dependency${hasGo ? "" : " (left out: no go)"}`,
  () => {
    expect(spawnSync("gofmt", ["-l", "."], { cwd: goIn, encoding: "utf8" }).stdout).toBe("");
    expect(go("vet", "./...")).toMatchObject({ status: 0, stderr: "" });
    expect(go("list", "-m", "all").stdout.trim()).toBe("example.com/execution-zone");
  },
);
