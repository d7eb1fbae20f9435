/** The commands about the allowlist, the same on both engines; what they change is what the gate goes by. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { configFields } from "@sekisho/config/schema.ts";
import { lockFolder } from "@sekisho/local/folder-lock.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { withRule } from "@sekisho/sekisho/allow/rule-set.ts";
import { formatRule } from "@sekisho/sekisho/allow/rule-text.ts";
import { changeRules } from "@sekisho/sekisho/allow/rule-zone.ts";
import { createGate } from "@sekisho/verification/gate/gate.ts";
import { parseUsage } from "@sekisho/verification/gate/quotas.ts";
import { parseRefusalRecord } from "@sekisho/verification/gate/refusals.ts";
import {
  maxRules,
  maxRulesBytes,
  noStoredRules,
  parseStoredRules,
} from "@sekisho/verification/gate/rules.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { Run } from "../../e2e/processes.ts";
import { sampleAsk } from "../../verification/task/sample.ts";
import { twoAccounts, writeConfig } from "../aws/a-stage.ts";
import { commandHere, failing, printing, refusing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { openAwsPlace, openSqlitePlace, type TestPlace } from "../tasks/places.ts";

type AllowPlace = Pick<TestPlace, "folder" | "engine" | "aws" | "close"> & {
  /** `sekisho allow <args>` at this place. */
  allow(...args: string[]): Promise<Run>;
  /** Words that name the place themselves. */
  sekisho(...args: string[]): Promise<Run>;
  /** What is said of when the configuration's rules hold there. */
  ofConfiguration: string;
};

const allowlist = [{ channel: "C9", label: "bootstrap" }];

async function openSqliteAllowPlace(): Promise<AllowPlace> {
  const place = await openSqlitePlace();
  const config = writeConfig({ folder: place.folder, name: "one.json", json: { allowlist } });
  const store = `${place.folder}/verification.db`;
  return {
    ...place,
    allow: (...args) => commandHere(["allow", ...args, "--store", store, "--config", config], {}),
    sekisho: (...args) => commandHere(args, {}),
    ofConfiguration: "as of the zone's last start",
  };
}

async function openAwsAllowPlace(): Promise<AllowPlace> {
  const place = await openAwsPlace();
  const config = writeConfig({
    folder: place.folder,
    name: "allow.json",
    json: { ...twoAccounts, allowlist },
  });
  const env = place.aws?.env ?? {};
  return {
    ...place,
    allow: (...args) => commandHere(["allow", ...args, "--stage", "prod", "--config", config], env),
    sekisho: (...args) => commandHere(args, env),
    ofConfiguration: "as of the last deploy",
  };
}

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

  it("allows a person after a rule was added, until the rule is removed", async () => {
    const slack = {
      groupMembers: async () => [],
      person: async () => ({ locale: undefined, workspaces: [], organization: undefined }),
    };
    const { signal } = new AbortController();
    const { message, requestId } = sampleAsk({ user: "U7" });
    // A new one each time: what an old one knows it may keep for some seconds.
    const allowed = async () => {
      const ruleStore = place.engine.taskStore({ parse: parseStoredRules });
      const usageStore = place.engine.taskStore({ parse: parseUsage });
      const refusalStore = place.engine.taskStore({ parse: parseRefusalRecord });
      const config = configFields.parse({});
      const gate = createGate({
        config,
        ruleStore,
        usageStore,
        refusalStore,
        slack,
        log: silentLog,
        now: Date.now,
      });
      return (await gate.permit({ message, requestId, signal })).allowed;
    };
    expect(await allowed()).toBe(false);
    const added = await place.allow("add", "--team", "T1", "--user", "U7", "--label", "on call");
    expect(added).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("within 15 seconds"),
    });
    expect(await allowed()).toBe(true);
    const removed = await place.allow("remove", "--user", "U7", "--team", "T1");
    expect(removed).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("on call"),
    });
    expect(await allowed()).toBe(false);
  });

  it("adds no duplicate of a rule with another label, and never reuses a number", async () => {
    await place.allow("add", "--channel", "C1", "--label", "first");
    const again = await place.allow("add", "--channel", "C1", "--label", "second");
    expect(again).toMatchObject(printing("Already there"));
    const [first, ...more] = await listed();
    expect([first, more]).toMatchObject([{ channel: "C1", label: "first" }, []]);
    const number = first?.number ?? 0;
    await place.allow("remove", String(number));
    await place.allow("add", "--channel", "C1");
    expect(await listed()).toMatchObject([{ number: number + 1, channel: "C1" }]);
    const gone = await place.allow("remove", String(number));
    expect(gone).toMatchObject(refusing(1, "no rule number"));
  });

  it("keeps all rules that several people add at the same time", async () => {
    const users = Array.from({ length: 6 }, (_, index) => `U${index}`);
    const store = place.engine.taskStore({ parse: parseStoredRules });
    const add = (user: string) =>
      changeRules({
        store,
        decide: (stored) => withRule({ stored, rule: { user }, nowMs: Date.now() }),
      });
    await Promise.all(users.map(add));
    const rules = (await listed()) as { number: number; source: string; user?: string }[];
    expect(rules.map(({ user }) => user).sort()).toEqual(users);
    expect(new Set(rules.map(({ number }) => number)).size).toBe(users.length);
  });

  it("lists the rules of both sources, and refuses to remove a rule of the configuration", async () => {
    await place.allow("add", "--group", "S1", "--label", "Platform\u00a0team");
    const { stdout, stderr, code } = await place.allow("list");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^\d+ +group S1 "Platform.team" +\(added \d{4}-.*\n- +channel C9 "bootstrap" +\(/,
    );
    expect(stderr).toContain(place.ofConfiguration);
    const refusal = await place.allow("remove", "--channel", "C9");
    expect(refusal).toMatchObject(refusing(1, "Remove it there"));
    const same = await place.allow("add", "--channel", "C9");
    expect(same).toMatchObject(failing(0, "has the same rule"));
  });

  it("explains by which rule somebody is allowed, or which rule is missing", async () => {
    const why = (...args: string[]) => place.allow("why", "--team", "T1", ...args);
    await place.allow("add", "--team", "T1", "--group", "S1", "--label", "reviewers");
    expect(await why("--channel", "C9", "--user", "U1")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/may ask in C9 of T1, by a rule in .*channel C9 "bootstrap"/),
    });
    const byGroup = await why("--channel", "C1", "--user", "U1");
    expect(byGroup).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/user group of one of these:\n {2}rule \d+: .*"reviewers"/),
    });
    await place.allow("add", "--user", "U1");
    expect((await why("--channel", "C1", "--user", "U1")).stdout).toMatch(/by rule \d+: user U1/);
    const none = await place.allow("why", "--team", "T2", "--channel", "C1", "--user", "U2");
    expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining("No rule") });
    // What it says is what helps.
    const [, args = ""] = /npx --no-install sekisho allow (add .*)$/m.exec(none.stdout) ?? [];
    expect(await place.sekisho("allow", ...args.split(" "))).toMatchObject({ code: 0 });
    const then = await place.allow("why", "--team", "T2", "--channel", "C1", "--user", "U2");
    expect(then.code).toBe(0);
  });

  it.each([
    [["--user", "U3"], ["--external", "people"], "as a person of one of them"],
    [["--user", "U3"], ["--external", "channels"], "shared with other organizations"],
    [["--bot", "Wf3"], [], "lets Wf3 ask"],
  ])("suggests a rule with the arguments %j %j", async (who, where, text) => {
    await place.allow("add", "--channel", "C3");
    const whyArgs = ["why", "--team", "T1", "--channel", "C3", ...who, ...where];
    const none = await place.allow(...whyArgs);
    expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining(text) });
    expect(
      /in channels that are not shared with other organizations, by rule \d+/.test(none.stdout),
    ).toBe(where.length > 0);
    const [, args = ""] = /npx --no-install sekisho allow (add .*)$/m.exec(none.stdout) ?? [];
    expect(await place.sekisho("allow", ...args.split(" "))).toMatchObject({ code: 0 });
    expect(await place.allow(...whyArgs)).toMatchObject({ code: 0 });
  });

  it("refuses to list or change rules of another version", async () => {
    await place.allow("add", "--user", "U1");
    const store = place.engine.taskStore({
      parse: (json) => json as ReturnType<typeof parseStoredRules>,
    });
    const item = await store.get({ id: "allowlist" });
    if (item === undefined) throw new Error("There is a rule.");
    const newer = {
      ...item,
      rules: item.rules.map((one) => ({ ...one, rule: { ...one.rule, role: "guest" } })),
    };
    const stored = await store.replace({ item: newer });
    for (const args of [["list"], ["add", "--user", "U2"], ["remove", "--user", "U1"]]) {
      const refusal = await place.allow(...args);
      expect(refusal).toMatchObject(refusing(1, "Another version"));
    }
    await store.replace({ item: { ...item, revision: stored?.revision ?? 0 } });
  });
});

const { folder, run } = commandsInFolder();
const itOnAws = whyNoDynamoDb === undefined ? it : it.skip;

describe("sekisho allow", () => {
  it.each([
    [["add"], "at least one of --team"],
    [["add", "--label", "everyone"], "at least one of --team"],
    // A variable of a shell that is not set would make the rule wider.
    [["add", "--channel", "C1", "--user", ""], "--user is a user's id"],
    [["add", "--channel", "#general"], "--channel is a channel's id"],
    [["add", "--user", "C012AB3CD"], "--user is a user's id"],
    [["add", "--group", "U012AB3CD"], "--group is a user group's id"],
    [["add", "--team", "acme"], "--team is the id of a workspace"],
    [["add", "--user", "U1", "--label", "two\nlines"], "--label is a text"],
    [["add", "--user", "U1", "--label", "x".repeat(81)], "--label is a text"],
    [["remove"], "Name one rule"],
    [["remove", "1", "--user", "U1"], "Name one rule"],
    [["remove", "first"], '"first" is not the number'],
    [["add", "--external", "people"], "at least one of --team"],
    [["add", "--user", "U1", "--external", "guests"], "--external is either channels or people"],
    [["add", "--bot", "U012AB3CD"], "--bot is the id of a bot"],
    [["add", "--bot", "B1", "--user", "U1"], "--bot without --user"],
    [["why", "--user", "U1"], "Give --team, --channel, and either"],
    [
      ["why", "--team", "T1", "--channel", "C1", "--user", "U1", "--bot", "B1"],
      "either --user or --bot",
    ],
    [["why", "--team", "T1", "--channel", "C1", "--user", ""], "--user is a user's id"],
    [["list", "--stage", "dev", "--store", "x.db"], "not both"],
    [["list", "--stage", "nowhere"], "nowhere"],
  ])("refuses %j with exit code 2 and names the correct usage", async (args, text) => {
    const refusal = await commandHere(["allow", ...args], {});
    expect(refusal).toMatchObject(refusing(2, text));
  });

  it("requires a workspace if several can install the app, and lists stored rules without effect", async () => {
    const place = await openSqlitePlace();
    const store = `${place.folder}/verification.db`;
    const install = { clientId: "1.2", clientSecret: { env: "SECRET" } };
    const write = (name: string, json: object) => writeConfig({ folder: place.folder, name, json });
    const alone = write("alone.json", {});
    const config = write("installed.json", { slack: { install } });
    const allow = (...args: string[]) =>
      commandHere(["allow", ...args, "--store", store, "--config", config], {});
    expect(
      await commandHere(["allow", "add", "--user", "U7", "--store", store, "--config", alone], {}),
    ).toMatchObject(printing("Added rule 1"));
    expect(await allow("add", "--bot", "A1")).toMatchObject(refusing(2, "Give --team"));
    expect(await allow("add", "--team", "E1", "--bot", "A1")).toMatchObject(
      printing("Added rule 2"),
    );
    const { stdout, stderr } = await allow("list");
    expect(stdout).toMatch(/user U7 .*lets nobody in/);
    expect(stdout).not.toMatch(/bot A1.*lets nobody in/);
    expect(stderr).toContain("Add it again with --team");
    const why = await allow("why", "--team", "T1", "--channel", "C1", "--user", "U7");
    expect(why).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("--team T1 --channel C1 --user U7"),
    });
    const bot = await allow("why", "--team", "T1", "--channel", "C1", "--bot", "A1");
    expect(bot.stdout).toContain("in all of E1");
    await place.close();
  });

  it("names the missing database if nothing was ever started, and creates no file", async () => {
    const file = join(folder, ".sekisho", "verification.db");
    const result = await run(["allow", "add", "--user", "U1"]);
    expect(result).toMatchObject(refusing(1, file));
    expect(existsSync(file)).toBe(false);
    expect(await run(["allow", "add", "U1"])).toMatchObject(failing(2, "U1"));
  });

  it("says when the rule takes effect, depending on whether a zone is running", async () => {
    const place = await openSqliteAllowPlace();
    const when = async () => (await place.allow("add", "--user", "U1")).stdout;
    expect(await when()).toContain("otherwise at its next start");
    await place.allow("remove", "--user", "U1");
    const lock = lockFolder({ folder: place.folder });
    expect(await when()).toMatch(/It takes effect within 15 seconds, without a restart\.$/m);
    lock.release();
    await place.close();
  });

  itOnAws("says what AWS refuses, and that it does not answer", async () => {
    const place = await openAwsAllowPlace();
    const refuse = (action: string, name: string, status: number) =>
      place.aws?.refusals.set(action, { name, status });
    refuse("dynamodb:PutItem", "AccessDeniedException", 400);
    const refusal = await place.allow("add", "--user", "U1");
    expect(refusal).toMatchObject(refusing(1, "lack the permission"));
    refuse("dynamodb:GetItem", "InternalFailure", 500);
    expect((await place.allow("list")).code).toBe(3);
    await place.close();
  });
});

describe("the set of rules", () => {
  it("reports a full set of rules and suggests shorter alternatives", () => {
    const rules = (count: number, label?: string) =>
      Array.from({ length: count }, (_, index) => ({
        rule: { user: `U${index}`, label },
        number: 1,
        addedAtMs: 0,
      }));
    const add = (added: ReturnType<typeof rules>) => () =>
      withRule({ stored: { ...noStoredRules(), rules: added }, rule: { user: "W1" }, nowMs: 0 });
    expect(add(rules(maxRules - 1))).not.toThrow();
    expect(add(rules(maxRules))).toThrow("user group");
    // Long labels fill the record before there are so many.
    const long = rules(maxRules - 1, "字".repeat(80));
    expect(JSON.stringify(long).length).toBeLessThan(maxRulesBytes);
    expect(add(long)).toThrow("full");
  });

  it("removes control characters from a label that is shown on a terminal", () => {
    const { label } = { label: "\u001b[2Jred\r\nline" };
    expect(formatRule({ user: "U1", label })).toBe('user U1 " [2Jred  line"');
  });
});
