import { describe, expect, it } from "@jest/globals";
import {
  createBotTokens,
  type FindTeam,
  type Installations,
} from "@sekisho/verification/installations/installations.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { sampleInstallation } from "./stored.ts";

const workspace = { team: "T1" };
const ofGrid = { team: "T2", enterprise: "E1" };
const nobodys: FindTeam = async () => undefined;

/** Installations by id, which a test may change; and which ids were asked for. */
function createInstallations(tokens: Record<string, string | Error>) {
  const reads: string[] = [];
  const installations: Installations = {
    async get({ id }) {
      reads.push(id);
      const token = tokens[id];
      if (token instanceof Error) throw token;
      return token === undefined ? undefined : sampleInstallation({ botToken: token });
    },
    put: () => Promise.reject(new Error("Nobody writes here.")),
  };
  return { tokens, reads, installations };
}

/** The tokens where several install the app. `configured` is the token of the configuration. */
function tokensOver(
  { installations }: { installations: Installations },
  {
    configured: configuredToken,
    ...options
  }: { configured?: string; teamOf?: FindTeam; now?: () => number } = {},
) {
  return createBotTokens({ botToken: async () => configuredToken, installations, ...options });
}

describe("a token of an app installed by hand", () => {
  it("returns the configured token to every caller and keeps it for a minute", async () => {
    let nowMs = 0;
    const values = ["xoxb-1", "xoxb-2", "xoxb-3"];
    const tokens = createBotTokens({ botToken: async () => values.shift(), now: () => nowMs });
    expect(await Promise.all([tokens.tokenOf(workspace), tokens.tokenOf(workspace)])).toEqual([
      "xoxb-1",
      "xoxb-1",
    ]);
    nowMs = 59_999;
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-1");
    nowMs = 60_000;
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-2");
    expect(await tokens.tokenOf(ofGrid)).toBe("xoxb-3");
  });

  it("keeps the cached token if reading it again fails, and throws if it was never read", async () => {
    let nowMs = 0;
    let isAway = true;
    const botToken = async () => (isAway ? Promise.reject(new Error("out of reach")) : "xoxb-1");
    const tokens = createBotTokens({ botToken, now: () => nowMs });
    await expect(tokens.tokenOf(workspace)).rejects.toThrow("out of reach");
    isAway = false;
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-1");
    isAway = true;
    nowMs = 120_000;
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-1");
  });

  it("reads the token again after Slack refused it and returns nothing if it has not changed", async () => {
    let value = "xoxb-1";
    const tokens = createBotTokens({ botToken: async () => value });
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-1");
    expect(
      await tokens.readNewerToken({ installation: workspace, tried: "xoxb-1" }),
    ).toBeUndefined();
    value = "xoxb-2";
    expect(await tokens.readNewerToken({ installation: workspace, tried: "xoxb-1" })).toBe(
      "xoxb-2",
    );
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-2");
    expect(await tokens.readNewerToken({ installation: workspace, tried: "xoxb-1" })).toBe(
      "xoxb-2",
    );
  });
});

describe("a token of an app in several workspaces", () => {
  it("stops using a token at most a minute after its secret was removed", async () => {
    let nowMs = 0;
    const all = createInstallations({ T1: "xoxb-t1" });
    const { tokens: values } = all;
    const tokens = tokensOver(all, { now: () => nowMs });
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-t1");
    delete values.T1;
    nowMs = 60_000;
    await expect(tokens.tokenOf(workspace)).rejects.toMatchObject({ kind: "gone" });
    values.T1 = new Error("out of reach");
    await expect(tokens.tokenOf(workspace)).rejects.toThrow("out of reach");
  });

  it("tries once a minute to read a token again while that fails", async () => {
    let nowMs = 0;
    const all = createInstallations({ T1: "xoxb-t1" });
    const { tokens: values, reads } = all;
    const tokens = tokensOver(all, { now: () => nowMs });
    await tokens.tokenOf(workspace);
    values.T1 = new Error("out of reach");
    for (nowMs = 60_000; nowMs < 180_000; nowMs += 1000)
      expect(await tokens.tokenOf(workspace)).toBe("xoxb-t1");
    expect(reads.length).toBe(3);
  });

  it("prefers the token of the workspace to that of the organization and caches each separately", async () => {
    const all = createInstallations({ T1: "xoxb-t1", T2: "xoxb-t2", E1: "xoxb-e1" });
    const tokens = tokensOver(all, { configured: "xoxb-configured", teamOf: nobodys });
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-t1");
    expect(await tokens.tokenOf(ofGrid)).toBe("xoxb-t2");
    expect(await tokens.tokenOf({ team: "T3", enterprise: "E1" })).toBe("xoxb-e1");
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-t1");
    expect(all.reads).toEqual(["T1", "T2", "T3", "E1"]);
  });

  it("never uses the token of an organization for a workspace that does not name it", async () => {
    const tokens = tokensOver(createInstallations({ E1: "xoxb-e1" }), { teamOf: nobodys });
    await expect(tokens.tokenOf({ team: "T3" })).rejects.toMatchObject({ kind: "gone" });
  });

  it.each([
    ["of that workspace", { team: "T1" }, workspace, true],
    ["of another workspace", { team: "T9" }, workspace, false],
    ["of the whole organization", { team: "T9", enterprise: "E1" }, ofGrid, true],
    ["of another organization", { team: "T2", enterprise: "E9" }, ofGrid, false],
    ["that Slack refuses", undefined, workspace, false],
  ])("decides whether to use a configured token %s", async (_what, own, installation, isTaken) => {
    const tokens = tokensOver(createInstallations({}), {
      configured: "xoxb-configured",
      teamOf: async (token) => (token === "xoxb-configured" ? own : undefined),
    });
    const result = await tokens.tokenOf(installation).catch((error: unknown) => error);
    if (isTaken) expect(result).toBe("xoxb-configured");
    else expect(result).toEqual(new SlackError("gone"));
  });

  it("never uses the configured token if nobody can say whose it is", async () => {
    const tokens = tokensOver(createInstallations({}), { configured: "xoxb-configured" });
    await expect(tokens.tokenOf(workspace)).rejects.toMatchObject({ kind: "gone" });
  });

  it("rejects if an installation cannot be read, instead of using the configured token", async () => {
    const tokens = tokensOver(createInstallations({ T1: new Error("out of reach") }), {
      configured: "xoxb-configured",
      teamOf: async () => workspace,
    });
    await expect(tokens.tokenOf(workspace)).rejects.toThrow("out of reach");
  });

  it("falls back to the token of the organization when Slack refuses that of the workspace", async () => {
    const tokens = tokensOver(createInstallations({ T2: "xoxb-t2", E1: "xoxb-e1" }));
    expect(await tokens.tokenOf(ofGrid)).toBe("xoxb-t2");
    expect(await tokens.readNewerToken({ installation: ofGrid, tried: "xoxb-t2" })).toBe("xoxb-e1");
    expect(
      await tokens.readNewerToken({ installation: workspace, tried: "xoxb-t1" }),
    ).toBeUndefined();
  });

  it("keeps a doubtful token of the workspace until another one has replaced it", async () => {
    const all = createInstallations({ T2: "xoxb-t2", E1: "xoxb-e1" });
    const { tokens: values } = all;
    const tokens = tokensOver(all);
    const tried = await tokens.tokenOf(ofGrid);
    expect(
      await tokens.readNewerToken({ installation: ofGrid, tried, inDoubt: true }),
    ).toBeUndefined();
    expect(await tokens.tokenOf(ofGrid)).toBe("xoxb-t2");
    values.T2 = "xoxb-rotated";
    expect(await tokens.readNewerToken({ installation: ofGrid, tried, inDoubt: true })).toBe(
      "xoxb-rotated",
    );
    expect(await tokens.tokenOf(ofGrid)).toBe("xoxb-rotated");
  });

  it("reads the token again after the app was installed again", async () => {
    const all = createInstallations({ T1: "xoxb-old" });
    const { tokens: values } = all;
    const tokens = tokensOver(all);
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-old");
    values.T1 = "xoxb-new";
    expect(await tokens.readNewerToken({ installation: workspace, tried: "xoxb-old" })).toBe(
      "xoxb-new",
    );
    expect(await tokens.tokenOf(workspace)).toBe("xoxb-new");
  });

  it("forgets the oldest token when there are too many, and reads it again", async () => {
    const all = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`T${index}`, `xoxb-${index}`]),
    );
    const { installations, reads } = createInstallations(all);
    const tokens = createBotTokens({ botToken: async () => undefined, installations });
    for (const team of Object.keys(all)) await tokens.tokenOf({ team });
    await tokens.tokenOf({ team: "T500" });
    expect(reads.length).toBe(501);
    expect(await tokens.tokenOf({ team: "T0" })).toBe("xoxb-0");
    expect(reads.length).toBe(502);
  });
});
