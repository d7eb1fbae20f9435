/** `sekisho usage` against the finished tasks of a zone, the same on both engines. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { csvLine } from "@sekisho/sekisho/usage/csv.ts";
import { parseFormerEntry } from "@sekisho/sekisho/usage/former-history.ts";
import { parseTask } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { places, type TestPlace } from "../tasks/places.ts";
import { sampleFormerEntry } from "./former-entry.ts";

const hourMs = 3600_000;
const nowMs = Date.now();
const votes = (["up", "up", "down"] as const).map((vote, index) => ({
  voterId: `v${index}`,
  vote,
  atMs: nowMs,
}));
const today = new Date(nowMs).toISOString().slice(0, 10);
const idOf = (number: number) => `0000000${number}-0000-5000-8000-000000000000`;

describe.each(places)("sekisho usage at $name", ({ open }) => {
  let place: TestPlace;
  const usage = (...args: string[]) => place.command("usage", ...args);

  beforeAll(async () => {
    place = await open();
    const store = place.engine.taskStore({ parse: parseTask });
    const keep = async (
      number: number,
      { user = "U1", text = "hello", failed = false, counts = true, atMs = nowMs } = {},
    ) => {
      const { message } = sampleTask();
      const task = sampleTask({
        id: idOf(number),
        state: "done",
        message: { ...message, user, text: "" },
        expiresAtMs: nowMs + 24 * hourMs,
        ...(number === 1 && { votes }),
        ...(counts && { endedAtMs: atMs }),
        ...(!failed && { call: sampleCall({ destination: "far" }) }),
        receivedAtMs: atMs - 1500,
        textsErased: true,
        delivery: { status: "posting" },
        ...(failed
          ? { outcome: { type: "failed", reason: "timeout", lost: false } as const }
          : {
              tokens: { input: 10, output: 5, total: 15 },
              texts: { question: text, answer: 'She said "one,\r\ntwo"' },
            }),
      });
      await store.create({ item: task });
    };
    await keep(1);
    await keep(2, { user: "U2", text: '=HYPERLINK("http://evil.example")' });
    await keep(3, { failed: true });
    await keep(4, { atMs: nowMs - 40 * 24 * hourMs });
    // A reply to a question is no task of its own.
    await keep(5, { counts: false });
  });
  afterAll(() => place.close());

  it("sums tasks, outcomes, tokens and people of the last thirty days", async () => {
    const { code, stdout } = await usage();
    expect(code).toBe(0);
    expect(stdout).toContain("3 tasks of 2 people");
    expect(stdout).toMatch(/^far +2 +2 +0 +20 +10 +30 +2 +1$/m);
    expect(stdout).toMatch(/^\(none\) +1 +0 +1 +0 +0 +0 +0 +0$/m);
    expect(stdout).toMatch(/1 {2}failed: timeout/);
    expect(stdout).toMatch(/T1\/U1 +2 tasks +15 tokens/);
    expect(stdout).not.toContain("HYPERLINK");
  });

  it("writes CSV by RFC 4180, without formulas for a spreadsheet", async () => {
    const { stdout } = await usage("--csv", "--user", "U2");
    const [head, line, ...rest] = stdout.split("\r\n");
    expect(head).toBe(
      "ended_at,asked_at,seconds,request_id,team,channel,user,destination,outcome,reason,polls,questions,input_tokens,output_tokens,total_tokens,votes_up,votes_down,question,answer",
    );
    expect(line).toContain(
      `,1.5,${idOf(2)},T1,C1,U2,far,answered,,0,0,10,5,15,,,"'=HYPERLINK(""http://evil.example"")","She said ""one,`,
    );
    expect(rest).toEqual(['two"""', ""]);
  });

  it("writes a file that only its owner can read, and prints the number of tasks", async () => {
    const file = join(place.folder, "usage.csv");
    const { code, stdout, stderr } = await usage("--csv", "--out", file);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "",
      stderr: `3 tasks written to ${file}.\n`,
    });
    expect(readFileSync(file, "utf8").split("\r\n").length).toBeGreaterThan(4);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("prints one JSON object per line, for the requested days and person", async () => {
    const rows = async (...args: string[]) =>
      (await usage("--json", ...args)).stdout
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    expect((await rows("--user", "U1")).map(({ request_id }) => request_id)).toEqual([
      idOf(1),
      idOf(3),
    ]);
    expect((await rows("--user", "U1"))[0]).toMatchObject({ votes_up: 2, votes_down: 1 });
    expect(await rows("--from", "2020-01-01", "--to", "2020-01-02")).toEqual([]);
    expect(
      await rows("--from", new Date(nowMs - 45 * 24 * hourMs).toISOString().slice(0, 10)),
    ).toHaveLength(4);
    expect((await rows("--from", today, "--user", "U2"))[0]).toMatchObject({
      total_tokens: 15,
      outcome: "answered",
    });
    expect(await rows("--team", "T9")).toEqual([]);
  });

  it.each([
    [["--from", "2026-02-31"], '--from must be a day such as 2026-11-30, not "2026-02-31"'],
    [["--from", "2026-11-02", "--to", "2026-11-01"], "--from 2026-11-02 is after --to 2026-11-01"],
    [["--csv", "--json"], "--csv or --json, not both"],
    [["--out", "x"], "--out needs --csv or --json"],
    [["--user", "@me"], "--user must be a Slack id"],
  ])("refuses %j and explains why", async (args, why) => {
    const { code, stdout, stderr } = await usage(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(why);
  });
});

describe.each(places)("sekisho usage at $name, after an upgrade from version 1.0.0", ({ open }) => {
  let place: TestPlace;

  beforeAll(async () => {
    place = await open();
    const entry = sampleFormerEntry({ requestId: idOf(6), user: "U6", listedAtMs: nowMs });
    const tokens = { input: 1, output: 2, total: 3 };
    await place.engine
      .taskStore({ parse: parseFormerEntry })
      .create({ item: { ...entry, tokens, votes: { v1: "up", v2: "down" } } });
    // Its worker died after it had written the entry, so that this version ended the task.
    const task = { id: idOf(6), state: "done", expiresAtMs: nowMs + hourMs } as const;
    await place.engine
      .taskStore({ parse: parseTask })
      .create({ item: sampleTask({ ...task, endedAtMs: nowMs }) });
  });
  afterAll(() => place.close());

  it("counts an entry of the old usage history once", async () => {
    const { stdout } = await place.command("usage", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      request_id: idOf(6),
      user: "U6",
      seconds: 1.5,
      outcome: "answered",
      total_tokens: 3,
      votes_up: 1,
      votes_down: 1,
    });
  });
});

describe("a line of CSV", () => {
  it.each([
    ["=1+1", "'=1+1"],
    ["x;=cmd|calc!A0", `"x;'=cmd|calc!A0"`],
    ["x\t@SUM(A1)", `"x\t'@SUM(A1)"`],
    ["x\r\n -1", `"x\r\n' -1"`],
    ['x;"=cmd"', `"x;'""=cmd"""`],
    ["\tx", `"'\tx"`],
    ["a;b", `"a;b"`],
    ["a = b - c", "a = b - c"],
    ["\u001b[2J\u0007\u009bhi", "[2Jhi"],
    [undefined, ""],
    [-3, "-3"],
  ])("formats the cell %j as %j", (cell, line) => {
    expect(csvLine([cell])).toBe(line);
  });

  it("writes no cell that a spreadsheet calculates, whether it splits at commas, semicolons or tabs", () => {
    const piece = fc.constantFrom("=", "-", "＝", ";", "\t", "\n", "\r\n", " ", '"', ",", "a");
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (any) => {
        for (const cell of csvLine(["head", any])
          .slice("head,".length)
          .split(/[;\t\r\n]/)) {
          expect(cell).not.toMatch(/^["\p{Zs}]*[=+\-@＝＋－＠]/u);
        }
      }),
    );
  });
});
