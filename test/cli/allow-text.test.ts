/** What the commands about the allowlist make of a person's words, before they look anywhere. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { maxRules, maxRulesBytes, noStoredRules } from "../../lambdas/verification/gate/rules.ts";
import { withRule } from "../../lib/cli/allow/rule-set.ts";
import { formatRule } from "../../lib/cli/allow/rule-text.ts";
import { lockFolder } from "../../lib/local/engine.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { openAwsAllowPlace, openSqliteAllowPlace } from "./allow-places.ts";
import { commandHere } from "./aws/command-here.ts";
import { commandsInFolder } from "./commands-in-folder.ts";

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
    [["add", "--team", "acme"], "--team is a workspace's id"],
    // An organization's would fit nobody.
    [["add", "--team", "E012AB3CD"], "--team is a workspace's id"],
    [["add", "--user", "U1", "--label", "two\nlines"], "--label is a text"],
    [["add", "--user", "U1", "--label", "x".repeat(81)], "--label is a text"],
    [["remove"], "Name one rule"],
    [["remove", "1", "--user", "U1"], "Name one rule"],
    [["remove", "first"], '"first" is no number'],
    [["why", "--user", "U1"], "--team, --channel and --user are needed"],
    [["why", "--team", "T1", "--channel", "C1", "--user", ""], "--user is a user's id"],
    [["list", "--stage", "dev", "--store", "x.db"], "not both"],
    [["list", "--stage", "nowhere"], "nowhere"],
  ])("%j is refused with 2 and what would be right", async (words, text) => {
    const refused = await commandHere(["allow", ...words], {});
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(text) });
  });

  it("says where it looked where nothing was ever started, and makes no file", async () => {
    const file = join(folder, ".sekisho", "verification.db");
    const ended = await run(["allow", "add", "--user", "U1"]);
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(file) });
    expect(existsSync(file)).toBe(false);
    expect(await run(["allow", "add", "U1"])).toMatchObject({ code: 2, stderr: expect.stringContaining("U1") });
  });

  it.each(["list", "add", "remove", "why"])("%s says more where it is asked for help", async (name) => {
    const { code, stdout, stderr } = await commandHere(["allow", name, "--help"], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`sekisho allow ${name}`);
    expect(stdout).toContain("Exit code:");
  });

  it("says whether somebody is at work who takes the rule up", async () => {
    const place = await openSqliteAllowPlace();
    const when = async () => (await place.allow("add", "--user", "U1")).stdout;
    expect(await when()).toContain("else from its next start on");
    await place.allow("remove", "--user", "U1");
    const lock = lockFolder({ folder: place.folder });
    expect(await when()).toMatch(/It holds within 15 seconds, without a restart\.$/m);
    lock.release();
    await place.close();
  });

  itOnAws("says what AWS refuses, and that it does not answer", async () => {
    const place = await openAwsAllowPlace();
    const refuse = (action: string, name: string, status: number) => place.aws?.refusals.set(action, { name, status });
    refuse("dynamodb:PutItem", "AccessDeniedException", 400);
    const refused = await place.allow("add", "--user", "U1");
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("may not do that") });
    refuse("dynamodb:GetItem", "InternalFailure", 500);
    expect((await place.allow("list")).code).toBe(3);
    await place.close();
  });
});

describe("the set of rules", () => {
  it("says so when it is full, and names what would be shorter", () => {
    const rules = (count: number, label?: string) =>
      Array.from({ length: count }, (_, index) => ({ rule: { user: `U${index}`, label }, number: 1, addedAtMs: 0 }));
    const add = (kept: ReturnType<typeof rules>) => () =>
      withRule({ kept: { ...noStoredRules(), rules: kept }, rule: { user: "W1" }, nowMs: 0 });
    expect(add(rules(maxRules - 1))).not.toThrow();
    expect(add(rules(maxRules))).toThrow("user group");
    // Long labels fill the record before there are so many.
    const long = rules(maxRules - 1, "字".repeat(80));
    expect(JSON.stringify(long).length).toBeLessThan(maxRulesBytes);
    expect(add(long)).toThrow("full");
  });

  it("is shown without anything that a terminal would obey", () => {
    const { label } = { label: "\u001b[2Jred\r\nline" };
    expect(formatRule({ user: "U1", label })).toBe('user U1 " [2Jred  line"');
  });
});
