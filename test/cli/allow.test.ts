/** The commands about the allowlist, the same on both engines; what they change is what the gate goes by. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { configSchema } from "../../lambdas/shared/config/cross-checks.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { createGate, parseUsage } from "../../lambdas/verification/gate/gate.ts";
import { parseRefusalRecord } from "../../lambdas/verification/gate/refusals.ts";
import { parseStoredRules } from "../../lambdas/verification/gate/rules.ts";
import { changeRules } from "../../lib/cli/allow/change-rules.ts";
import { withRule } from "../../lib/cli/allow/rule-set.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { sampleAsk } from "../verification/task/sample.ts";
import { type AllowPlace, openAwsAllowPlace, openSqliteAllowPlace } from "./allow-places.ts";

const places = [
  { name: "the local run's file", open: openSqliteAllowPlace },
  { name: "a stage on AWS", open: openAwsAllowPlace },
].slice(0, whyNoDynamoDb === undefined ? 2 : 1);

describe.each(places)("sekisho allow at $name", ({ open }) => {
  let place: AllowPlace;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());
  beforeEach(async () => {
    for (const { number } of await listed()) await place.allow("remove", String(number));
  });

  async function listed(): Promise<{ number: number; source: string }[]> {
    const { stdout } = await place.allow("list", "--json");
    const lines = stdout.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).filter(({ source }) => source === "added");
  }

  it("lets in whom a rule was added for, until it is removed", async () => {
    const slack = { groupMembers: async () => [], person: async () => ({ locale: undefined }) };
    const { signal } = new AbortController();
    const { message, requestId } = sampleAsk({ user: "U7" });
    // A new one each time: what an old one knows it may keep for some seconds.
    const allowed = async () => {
      const ruleStore = place.engine.taskStore({ parse: parseStoredRules });
      const usageStore = place.engine.taskStore({ parse: parseUsage });
      const refusalStore = place.engine.taskStore({ parse: parseRefusalRecord });
      const config = configSchema.parse({});
      const gate = createGate({ config, ruleStore, usageStore, refusalStore, slack, log: silentLog, now: Date.now });
      return (await gate.permit({ message, requestId, signal })).allowed;
    };
    expect(await allowed()).toBe(false);
    const added = await place.allow("add", "--team", "T1", "--user", "U7", "--label", "on call");
    expect(added).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("within 15 seconds") });
    expect(await allowed()).toBe(true);
    const removed = await place.allow("remove", "--user", "U7", "--team", "T1");
    expect(removed).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("on call") });
    expect(await allowed()).toBe(false);
  });

  it("does not add a rule twice, whatever its label, and gives a number never again", async () => {
    await place.allow("add", "--channel", "C1", "--label", "first");
    const again = await place.allow("add", "--channel", "C1", "--label", "second");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing to add") });
    const [first, ...more] = await listed();
    expect([first, more]).toMatchObject([{ channel: "C1", label: "first" }, []]);
    const number = first?.number ?? 0;
    await place.allow("remove", String(number));
    await place.allow("add", "--channel", "C1");
    expect(await listed()).toMatchObject([{ number: number + 1, channel: "C1" }]);
    const gone = await place.allow("remove", String(number));
    expect(gone).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("no rule number") });
  });

  it("loses no rule of several people who add at once", async () => {
    const users = Array.from({ length: 6 }, (_, index) => `U${index}`);
    const store = place.engine.taskStore({ parse: parseStoredRules });
    const add = (user: string) =>
      changeRules({ store, decide: (kept) => withRule({ kept, rule: { user }, nowMs: Date.now() }) });
    await Promise.all(users.map(add));
    const rules = (await listed()) as { number: number; source: string; user?: string }[];
    expect(rules.map(({ user }) => user).sort()).toEqual(users);
    expect(new Set(rules.map(({ number }) => number)).size).toBe(users.length);
  });

  it("lists both sources apart, and removes a rule of the configuration nowhere but there", async () => {
    await place.allow("add", "--group", "S1", "--label", "Platform\u00a0team");
    const { stdout, stderr, code } = await place.allow("list");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ +\d+ {2}group S1 "Platform.team" {2}\(added \d{4}-.*\n +- {2}channel C9 "bootstrap" {2}\(/,
    );
    expect(stderr).toContain(place.ofConfiguration);
    const refused = await place.allow("remove", "--channel", "C9");
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("remove it there") });
    const same = await place.allow("add", "--channel", "C9");
    expect(same).toMatchObject({ code: 0, stderr: expect.stringContaining("has the same rule") });
  });

  it("says why somebody may ask, by which source, or what would have to be added", async () => {
    const why = (...words: string[]) => place.allow("why", "--team", "T1", ...words);
    await place.allow("add", "--team", "T1", "--group", "S1", "--label", "reviewers");
    expect(await why("--channel", "C9", "--user", "U1")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/may ask in C9 of T1, by a rule of .*channel C9 "bootstrap"/),
    });
    const byGroup = await why("--channel", "C1", "--user", "U1");
    expect(byGroup).toMatchObject({ code: 1, stdout: expect.stringMatching(/group of:\n {2}rule \d+: .*"reviewers"/) });
    await place.allow("add", "--user", "U1");
    expect((await why("--channel", "C1", "--user", "U1")).stdout).toMatch(/by rule \d+: user U1/);
    const none = await place.allow("why", "--team", "T2", "--channel", "C1", "--user", "U2");
    expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining("No rule") });
    // What it says is what helps.
    const [, words = ""] = /npx sekisho allow (add .*)$/m.exec(none.stdout) ?? [];
    expect(await place.sekisho("allow", ...words.split(" "))).toMatchObject({ code: 0 });
    const then = await place.allow("why", "--team", "T2", "--channel", "C1", "--user", "U2");
    expect(then.code).toBe(0);
  });

  it("leaves rules of another version alone", async () => {
    await place.allow("add", "--user", "U1");
    const store = place.engine.taskStore({ parse: (json) => json as ReturnType<typeof parseStoredRules> });
    const item = await store.get({ id: "allowlist" });
    if (item === undefined) throw new Error("There is a rule.");
    const newer = { ...item, rules: item.rules.map((one) => ({ ...one, rule: { ...one.rule, role: "guest" } })) };
    const stored = await store.replace({ item: newer });
    for (const words of [["list"], ["add", "--user", "U2"], ["remove", "--user", "U1"]]) {
      const refused = await place.allow(...words);
      expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("another version") });
    }
    await store.replace({ item: { ...item, revision: stored?.revision ?? 0 } });
  });
});
