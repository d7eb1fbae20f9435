/** The test of the tester: each defect fails the case that is meant for it, and an honest endpoint passes all. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { conformanceCases } from "@sekisho/conformance/cases/all.ts";
import type { CaseReport } from "@sekisho/conformance/conformance.ts";
import { type Agent, runAgent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { type Defect, serveDefect } from "./defect.ts";
import { defects, otherDefects } from "./defects.ts";
import { askerZone, conform, createHonestHost, namesOf, serveHost } from "./honest-endpoint.ts";

const root = join(__dirname, "../..");
const knownNames = new Map(conformanceCases.map((one) => [one.name, one]));

/** Cases that have an answer of every kind, for those that sum up. */
const everyKind = [
  ...[
    "execute/answers",
    "execute/every-param",
    "execute/unicode",
    "execute/long-text",
    "isolation/side-by-side",
  ],
  ...[
    "errors/issues",
    "errors/unknown-method",
    "tasks/unknown-get",
    "envelope/null",
    "failure/reason",
  ],
  ...[
    "question/read-again",
    "question/other-answer",
    "question/fields",
    "ended/cancel",
    "accepted/partial-text",
  ],
  ...["idempotency/files-read-once", "idempotency/other-content", "idempotency/canceled"],
];

/** These cases and all that they need or follow. */
function casesFor(...wanted: string[]) {
  const isSum = wanted.some((name) => knownNames.get(name)?.sumsUp);
  const names = new Set([...wanted, ...(isSum ? everyKind : [])]);
  for (const name of names) {
    const { needs = [], after: newValue = [] } = knownNames.get(name) ?? {};
    for (const other of [...needs, ...newValue]) names.add(other);
  }
  return conformanceCases.filter(({ name }) => names.has(name));
}

async function runDefect([caughtBy, , how, options]: Defect): Promise<readonly CaseReport[]> {
  const host = createHonestHost({ asker: options?.asker });
  const cases = casesFor(caughtBy);
  try {
    return (await conform(serveDefect({ host, how }), { cases, ...options })).cases;
  } finally {
    await host.stop({ graceMs: 0 });
  }
}

describe("an honest endpoint", () => {
  it.each([
    ["https", "with tokens of who asked", askerZone],
    ["agentcore", "without them", undefined],
  ] as const)(
    "passes an honest endpoint in every strict case, as %s and %s, with about eighty runs of its agent",
    async (profile, _tokens, asker) => {
      const echo = createEchoAgent();
      let runs = 0;
      const agent: Agent = async function* counted(task, context) {
        runs += 1;
        yield* runAgent(echo, task, context);
      };
      const host = createHonestHost({ agent, asker });
      const report = await conform(serveHost(host), {
        profile,
        asker,
        // On a busy machine, a task that must be canceled is not over by then.
        texts: { slow: "slow 8s", stream: "stream, plan, slow 8s" },
      });
      expect(report.cases.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
      expect(report.kept).toBe(true);
      expect(report.cases.length).toBeGreaterThan(110);
      // The documents and the help of the command say so, because a model may charge for each run.
      const askerRuns = asker ? 3 : 0;
      expect(Math.round((runs - askerRuns) / 10)).toBe(8);
    },
  );
});

describe("our own host on AgentCore", () => {
  it("reports the time of the last change of our own host on AgentCore in pings", async () => {
    const host = createHonestHost();
    const { url, close } = await startExecutionServer({
      host,
      port: 0,
      platformPrincipal: "agentcore",
    });
    const others = serveHost(host);
    const handle: typeof others = (call) =>
      call.request.url.endsWith("/ping") ? fetch(`${url}/ping`) : others(call);
    const cases = casesFor("agentcore/ping-time", "agentcore/ping-busy");
    const report = await conform(handle, {
      profile: "agentcore",
      cases,
      texts: { slow: "slow 5s" },
    }).finally(close);
    const busy = expect.objectContaining({
      outcome: "passed",
      came: expect.stringMatching(/HealthyBusy.*time_of_last/),
    });
    expect(report.cases.filter(({ name }) => /ping-/.test(name))).toEqual([busy, busy]);
  });
});

describe("each case", () => {
  const all = [...defects, ...otherDefects];
  const reports = new Map<Defect, readonly CaseReport[]>();
  beforeAll(async () => {
    const waiting = [...all];
    const work = async () => {
      for (let defect = waiting.shift(); defect !== undefined; defect = waiting.shift())
        reports.set(defect, await runDefect(defect));
    };
    await Promise.all(Array.from({ length: 12 }, work));
  });

  it.each(all.map((defect) => [...defect.slice(0, 2), defect] as [string, string, Defect]))(
    "the case %s fails an endpoint that %s",
    (name, _what, defect) => {
      expect(namesOf({ cases: reports.get(defect) ?? [] }, "failed")).toContain(name);
    },
  );

  it("every case has a dishonest endpoint that it catches", () => {
    expect(defects.map(([name]) => name).sort()).toEqual([...knownNames.keys()].sort());
  });

  it("needs and follows only cases that exist", () => {
    const named = conformanceCases.flatMap(({ needs = [], after: newValue = [] }) => [
      ...needs,
      ...newValue,
    ]);
    expect(named.filter((name) => !knownNames.has(name))).toEqual([]);
  });

  it("documents every group of cases in the reference", () => {
    const page = readFileSync(join(root, "docs/reference/conformance.md"), "utf8");
    const groups = [...page.matchAll(/^\| `([\w-]+)\/…` \|/gm)].map(([, group]) => group);
    const wantedGroups = [...new Set(conformanceCases.map(({ name }) => name.split("/")[0]))];
    expect([...groups].sort()).toEqual(wantedGroups.sort());
  });

  it("lists every case with its level and expectation", async () => {
    const { code, stdout } = await commandHere(["conformance", "--list"], {});
    expect(code).toBe(0);
    const lines = stdout.trim().split("\n");
    expect(lines.length).toBe(conformanceCases.length);
    for (const { name, level, expects } of conformanceCases) {
      const line = lines.find((one) => one.startsWith(`${name} (`));
      expect(line).toContain(level);
      expect(line?.endsWith(expects)).toBe(true);
    }
  });

  it("names an existing section of the contract for every case", () => {
    const page = readFileSync(join(root, "docs/reference/contract.md"), "utf8");
    const missing = conformanceCases.filter(
      ({ section }) => !new RegExp(`^#+ ${section}$`, "m").test(page),
    );
    expect(missing.map(({ name, section }) => [name, section])).toEqual([]);
  });
});
