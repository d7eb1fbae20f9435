/** Who may ask, and from where: rules, and workspaces that install the app, with the command line on the same store. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { sekisho } from "./processes.ts";
import { browserAt, type E2eWorld, install, startWorld, textsOf, together } from "./world.ts";

const clientSecret = "a-client-secret-of-this-test";
/** Rules are in force within it. */
const rulesKeptMs = 15_000;

let aheadMs = 0;

async function answered(
  world: E2eWorld,
  where: { channel: string; user: string },
): Promise<string> {
  const post = world.ask("private, let me in", where);
  expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
  return textsOf(world.answersTo(post.message));
}

const stories = {
  async "a second workspace installs the app in a browser, and is answered by its own token"(
    world: E2eWorld,
  ) {
    const stranger = browserAt(world);
    const { code } = world.fakeSlack.authorize({ team: "TSECOND" });
    await stranger.begin();
    const { status } = await stranger.back({ code, state: (await browserAt(world).begin()).state });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(world.fakeSlack.installations()).not.toContainEqual(
      expect.objectContaining({ caller: { team: "TSECOND" } }),
    );

    await install(world, { team: "TSECOND" });
    expect(world.fakeSlack.installations()).toContainEqual(
      expect.objectContaining({ caller: { team: "TSECOND" } }),
    );
    expect(await answered(world, { channel: "CSECOND", user: "UOUTSIDER" })).toContain(
      "private, let me in",
    );
  },

  async "an organization installs it for all of its workspaces, and a command is answered to the person"(
    world: E2eWorld,
  ) {
    await install(world, { enterprise: "ESTANDIN" });
    const [one, two] = await Promise.all([
      answered(world, { channel: "CGRID", user: "UGRID" }),
      answered(world, { channel: "CGRIDTWO", user: "UGRID" }),
    ]);
    expect([one, two]).toEqual(Array(2).fill(expect.stringContaining("private, let me in")));
    const { eventsUrl, fakeSlack } = world;
    const { requestId } = fakeSlack.command({
      eventsUrl,
      text: "private command",
      channel: "CGRID",
    });
    expect((await world.over(requestId)).outcome).toMatchObject({ type: "answer" });
    const places = fakeSlack.messages().filter(({ text }) => text.includes("private command"));
    expect(new Set(places.map(({ channel }) => channel))).toEqual(new Set(["DGRID"]));
  },
};

describe("the right to ask", () => {
  let world: E2eWorld;
  let storyRuns: ReturnType<typeof together>;
  beforeAll(async () => {
    const { now } = Date;
    jest.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
    process.env.SLACK_CLIENT_SECRET = clientSecret;
    world = await startWorld({
      transport: "in-process",
      slack: {
        admins: [{ team: "TSTANDIN", user: "UADMIN" }],
        command: { name: "/sekisho", answerIn: "person" },
        install: { clientId: "1234.5678", clientSecret: { env: "SLACK_CLIENT_SECRET" } },
      },
      install: { clientId: "1234.5678", clientSecret },
      allowed: false,
      allowlist: [
        { team: "TSTANDIN", channel: "CSTANDIN" },
        { team: "TSECOND" },
        { team: "TGRID" },
        { team: "TGRIDTWO", channel: "CGRIDTWO" },
      ],
    });
    storyRuns = together(stories, world);
  });
  afterAll(async () => {
    await world?.close();
    jest.restoreAllMocks();
    delete process.env.SLACK_CLIENT_SECRET;
  });

  it.each(Object.keys(stories))("completes the story: %s", (name) => storyRuns.get(name));

  it("tells a refused person in her language whom to ask, and answers once an operator has allowed her", async () => {
    await Promise.allSettled(storyRuns.values());
    const there = { channel: "CRANDOM", user: "UHANAKO" };
    const post = world.ask("private, let me in", there);
    expect((await world.over(post.requestId)).outcome).toEqual({ type: "refused" });
    expect(world.answersTo(post.message)).toEqual([]);
    const [{ user, text: words } = { user: "", text: "" }] = world.fakeSlack
      .ephemeralMessages()
      .filter(({ channel }) => channel === there.channel);
    expect(user).toBe("UHANAKO");
    expect(words).toMatch(/[ぁ-ん]/);
    expect(words).toContain("<@UADMIN>");
    expect(words).not.toMatch(/npx|--/);

    writeFileSync(join(world.folder, "sekisho.config.json"), "{}");
    const entries = world.lines.map((line) => JSON.parse(line));
    const refusal = entries.find(
      (entry) => entry.message === "request_not_allowed" && entry.user === "UHANAKO",
    );
    const ids = ["team", "channel", "user"].flatMap((name) => [
      `--${name}`,
      String(refusal?.[name]),
    ]);
    const why = await sekisho({ args: ["allow", "why", ...ids], cwd: world.folder }).exited;
    const [, typed = ""] = /npx --no-install sekisho (allow add .*)/.exec(why.stdout) ?? [];
    expect(typed).toBe("allow add --team TSTANDIN --channel CRANDOM --user UHANAKO");
    const added = await sekisho({ args: typed.split(" "), cwd: world.folder }).exited;
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining("UHANAKO") });
    aheadMs += rulesKeptMs;
    expect(await answered(world, there)).toContain("private, let me in");
  });

  it("stores tokens only in the file of installations, and logs neither tokens nor texts", async () => {
    const { fakeSlack, stored, secrets, lines } = world;
    const tokens = fakeSlack.installations().map(({ token }) => token);
    expect(tokens).toHaveLength(3);
    for (const secret of [...Object.values(secrets), clientSecret, ...tokens]) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
      expect(stored((name) => name !== "installations.json").includes(secret)).toBe(false);
    }
    expect(lines.filter((line) => /private|echo agent/.test(line))).toEqual([]);
  });
});
