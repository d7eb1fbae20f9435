/** Runs checks at once: one that fails, throws or never ends does not affect the others. And formats their findings. */
import { describe, expect, it } from "@jest/globals";
import { AwsFailure } from "../../../lib/cli/aws/aws-failure.ts";
import {
  type Check,
  failed,
  failedAs,
  need,
  ok,
  once,
  row,
  runChecks,
  skipped,
  warning,
} from "../../../lib/cli/doctor/check.ts";
import { formatDoctorJson, formatDoctorText } from "../../../lib/cli/doctor/report.ts";

const never = new AbortController().signal;
const check = (name: string, run: Check["run"]): Check => ({ name, run });
const throwing = (thrown: unknown) => check("throws", () => Promise.reject(thrown));
const run = (checks: Check[], given: { signal?: AbortSignal; timeoutMs?: number } = {}) =>
  runChecks({ groups: [{ group: "One", checks }], signal: never, ...given });

describe("runChecks", () => {
  it("keeps the order, and no check stops another", async () => {
    const slow = check("slow", async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return ok("at last");
    });
    const found = await run([
      slow,
      throwing(new Error("no")),
      check("quick", async () => ok("at once")),
    ]);
    expect(found.map(({ name, status }) => [name, status])).toEqual([
      ["slow", "ok"],
      ["throws", "failed"],
      ["quick", "ok"],
    ]);
  });

  it("shows only error messages that were written for a person", async () => {
    const [unknown] = await run([throwing(new TypeError("Bearer xoxb-canary is no header"))]);
    expect(JSON.stringify(unknown)).not.toContain("canary");
    expect(unknown).toMatchObject({
      what: expect.stringContaining("TypeError"),
      remedy: expect.any(String),
    });
    const [aws] = await run([
      throwing(new AwsFailure("Could not look: it is refused (X). Use another role.")),
    ]);
    expect(aws).toMatchObject({
      what: "Could not look: it is refused (X).",
      remedy: "Use another role.",
    });
  });

  it("gives each check its own time limit", async () => {
    const hanging = check("hangs", () => new Promise(() => {}));
    const found = await run([hanging, check("well", async () => ok("yes"))], { timeoutMs: 20 });
    expect(found).toMatchObject([
      { status: "failed", what: "It did not finish within 0.02 s.", remedy: expect.any(String) },
      { status: "ok" },
    ]);
  });

  it("ends the running checks when it is interrupted", async () => {
    const stop = new AbortController();
    const running = run([check("hangs", () => new Promise(() => {}))], { signal: stop.signal });
    stop.abort();
    expect(await running).toMatchObject([{ status: "failed", what: "It was interrupted." }]);
  });
});

describe("a row", () => {
  const missing = () => Promise.reject(new AwsFailure("It is down. Start it."));
  const inner = (needs: () => Promise<string>) =>
    row({ name: "inner", needs, check: (given) => ok(given) });

  it("gets what it needs, and is skipped where a need fails that another check reports", async () => {
    const found = await run([
      inner(need(async () => "there", "Not there.")),
      inner(need(missing, "Not there.")),
      inner(missing),
    ]);
    expect(found).toMatchObject([
      { status: "ok", what: "there" },
      { status: "skipped", what: "Not there." },
      { status: "failed", what: "It is down.", remedy: "Start it." },
    ]);
  });
});

describe("once", () => {
  it("runs the work once for all callers, even where it fails", async () => {
    let asked = 0;
    const ask = once(async () => {
      asked += 1;
      throw new Error("no");
    });
    await expect(ask()).rejects.toThrow("no");
    await expect(ask()).rejects.toThrow("no");
    expect(asked).toBe(1);
  });
});

describe("failedAs", () => {
  it.each([
    ["It is down. Start it.", "It is down.", "Start it."],
    [
      "There is no a.b.ts in /x. Run npx --no-install sekisho doctor.",
      "There is no a.b.ts in /x.",
      "Run npx --no-install sekisho doctor.",
    ],
    [
      "It is broken; npx --no-install sekisho mends it.",
      "It is broken.",
      "npx --no-install sekisho mends it.",
    ],
    [
      "Is it up? npx --no-install sekisho start starts it.",
      "Is it up?",
      "npx --no-install sekisho start starts it.",
    ],
    ["It is down: is it started?", "It is down: is it started?", "Look."],
  ])("splits %j into the problem and the remedy", (words, what, remedy) => {
    expect(failedAs(words, "Look.")).toEqual({ status: "failed", what, remedy });
  });
});

describe("the report", () => {
  const found = async () =>
    await runChecks({
      groups: [
        {
          group: "One",
          checks: [check("a", async () => ok("fine")), check("longer", async () => skipped("no"))],
        },
        {
          group: "Two",
          checks: [
            check("b", async () => failed("bad", "mend it")),
            check("c", async () => warning("hm", "look")),
          ],
        },
      ],
      signal: never,
    });

  it("groups the lines, puts the remedy below a problem, and ends with a summary", async () => {
    expect(formatDoctorText({ found: await found(), subject: "here" })).toBe(
      `
sekisho doctor: here

One
  ✓ a       fine
  – longer  no

Two
  ✗ b       bad
            → mend it
  ! c       hm
            → look

Something is wrong: 1 ok, 1 warning, 1 failed, 1 skipped.`.slice(1),
    );
  });

  it("is one object for scripts, in which a warning is not a failure", async () => {
    const all = await found();
    expect(JSON.parse(formatDoctorJson(all))).toMatchObject({
      ok: false,
      checks: [{ group: "One", name: "a", remedy: null }, {}, { remedy: "mend it" }, {}],
    });
    expect(
      JSON.parse(formatDoctorJson(all.filter(({ status }) => status !== "failed"))),
    ).toMatchObject({ ok: true });
  });
});
