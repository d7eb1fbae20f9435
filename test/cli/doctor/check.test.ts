/** The runner of the table of checks, and the report of their findings. */
import { describe, expect, it } from "@jest/globals";
import { AwsFailure } from "@sekisho/sekisho/aws/aws-failure.ts";
import {
  type Finding,
  failure,
  need,
  ok,
  parseFailure,
  runChecks,
  skip,
  warning,
} from "@sekisho/sekisho/doctor/check.ts";
import { formatDoctorJson, formatDoctorText } from "@sekisho/sekisho/doctor/report.ts";

type Place = { names: string[] };
const never = () => new Promise<Finding>(() => {});

/** Runs one check for each function, at a place that is there. */
function run(
  checks: Record<string, (place: Place, name: string) => Finding | Promise<Finding>>,
  more: { timeoutMs?: number; signal?: AbortSignal; only?: { group: string; name: string } } = {},
) {
  const rows = Object.entries(checks).map(([name, run]) => {
    return { name, where: "here" as const, run, advice: ({ names }: Place) => `See ${names}.` };
  });
  const table = [
    {
      group: "One",
      checks: [
        ...rows,
        {
          name: ({ names }: Place) => names,
          where: "here" as const,
          run: (_place: Place, name: string) => ok(`It is ${name}.`),
          advice: "",
        },
        { name: "elsewhere", where: "there" as const, run: never, advice: "" },
      ],
    },
  ];
  return runChecks<{ here: Place; there: Place }>({
    table,
    targets: { here: { names: ["a", "b"] } },
    signal: new AbortController().signal,
    ...more,
  });
}

it("runs the rows of the given places in the table's order, one check per name", async () => {
  const report = await run({ slow: async () => ok("at last"), throws: () => Promise.reject() });
  expect(report.map(({ name, status }) => `${name} ${status}`)).toEqual([
    "slow ok",
    "throws failed",
    "a ok",
    "b ok",
  ]);
  expect(await run({ hangs: never }, { only: { group: "One", name: "b" } })).toMatchObject([
    { name: "b", what: "It is b." },
  ]);
});

it("gives a problem the remedy of its finding, and else the advice of its row", async () => {
  const report = await run({
    own: () => failure("bad", "mend it"),
    none: () => warning("hm"),
    text: () => Promise.reject(new AwsFailure("It is down. Start it.")),
    fine: () => ok("good"),
  });
  expect(report.slice(0, 4).map(({ remedy }) => remedy)).toEqual([
    "mend it",
    "See a,b.",
    "Start it.",
    null,
  ]);
});

it("skips a check whose prerequisite another check reports", async () => {
  const [report] = await run({ needy: () => need(Promise.reject(new Error()), "Not there.") });
  expect(report).toMatchObject({ status: "skipped", what: "Not there." });
});

it("shows only error messages that were written for a person", async () => {
  const [report] = await run({ throws: () => Promise.reject(new TypeError("Bearer canary")) });
  expect(report?.what).toBe("The check itself failed (TypeError).");
  expect(JSON.stringify(report)).not.toContain("canary");
});

it("ends a check that hangs by its time limit or by an interruption", async () => {
  const [late] = await run({ hangs: never }, { timeoutMs: 20 });
  expect(late).toMatchObject({ status: "failed", what: "It did not finish within 0.02 s." });
  const [stopped] = await run({ hangs: never }, { signal: AbortSignal.abort() });
  expect(stopped).toMatchObject({ status: "failed", what: "It was interrupted." });
});

it.each([
  ["It is down. Start it.", "It is down.", "Start it."],
  ["There is no a.b.ts in /x. Run npx a b.", "There is no a.b.ts in /x.", "Run npx a b."],
  ["It is broken; npx a mends it.", "It is broken.", "npx a mends it."],
  ["Is it up? npx a starts it.", "Is it up?", "npx a starts it."],
  ["It is down: is it started?", "It is down: is it started?", undefined],
])("splits %j into the problem and the remedy", (text, what, remedy) => {
  expect(parseFailure(text)).toEqual({ status: "failed", what, remedy });
});

describe("the report", () => {
  const results = [
    { group: "One", name: "a", ...ok("fine"), remedy: null },
    { group: "One", name: "longer", ...skip("no"), remedy: null },
    { group: "Two", name: "b", ...failure("bad"), remedy: "mend it" },
    { group: "Two", name: "c", ...warning("hm"), remedy: "look" },
  ];

  it("groups the lines of the report, puts a remedy below its problem, and ends with a summary", () => {
    expect(formatDoctorText({ results, subject: "here" })).toBe(`sekisho doctor: here

One
  ✓ a       fine
  – longer  no

Two
  ✗ b       bad
            → mend it
  ! c       hm
            → look

Something is wrong: 1 ok, 1 warning, 1 failed, 1 skipped.`);
  });

  it("formats the report as one JSON object, in which a warning is not a failure", () => {
    expect(JSON.parse(formatDoctorJson(results))).toEqual({ ok: false, checks: results });
    const rest = results.filter(({ status }) => status !== "failed");
    expect(JSON.parse(formatDoctorJson(rest)).ok).toBe(true);
  });
});
