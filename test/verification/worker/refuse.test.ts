/** A refusal where Slack takes no ephemeral message. */
import { describe, expect, it } from "@jest/globals";
import { type SlackApi, SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import type { SlackErrorKind } from "../../../lambdas/verification/task/events.ts";
import { createNotify, postRefusalOnce } from "../../../lambdas/verification/worker/acts.ts";
import { sampleTask } from "../task/sample.ts";
import { worldGate, worldText } from "./world-people.ts";

const { signal } = new AbortController();

async function refusedWhere(kind: SlackErrorKind): Promise<unknown[]> {
  const told: unknown[] = [];
  const slack: Pick<SlackApi, "postEphemeral" | "openDirect" | "post"> = {
    postEphemeral: () => Promise.reject(new SlackError(kind)),
    openDirect: async ({ user }) => ({ channel: `D${user}` }),
    post: async ({ channel, threadTs, content }) => {
      told.push([channel, threadTs, content.text]);
      return { ts: "1.0" };
    },
  };
  const gate = worldGate({
    operate: async ({ effect }) => effect(),
    alive: { yes: true },
    underWay: new Set(),
    rules: {},
  });
  const task = sampleTask({ outcome: { type: "refused" } });
  await postRefusalOnce({ slack: slack as SlackApi, notify: createNotify({ gate }), task, text: worldText, signal });
  return told;
}

describe("a refusal that the channel does not show", () => {
  it.each(["gone", "refused"] as const)("goes to the person directly: %s", async (kind) => {
    expect(await refusedWhere(kind)).toEqual([["DU1", undefined, '{"type":"refused"}']]);
  });

  it.each(["rate_limited", "unavailable", "ambiguous"] as const)("is not repeated: %s", async (kind) => {
    expect(await refusedWhere(kind)).toEqual([]);
  });
});

describe("notices on their way to Slack", () => {
  const allowed = { task: sampleTask(), user: "U1", kind: "over", threadTs: undefined };
  const stranger = { ...allowed, user: "USTRANGER" };

  /** Posts stay under way until they are ended. */
  function setUp() {
    const claims: string[] = [];
    const posts: (() => void)[] = [];
    const notify = createNotify({
      gate: {
        isStranger: async ({ user }) => user === "USTRANGER",
        mayRefuse: async ({ user }) => claims.push(user) > 0,
      },
    });
    const tell = (notice: typeof allowed, stop = signal) =>
      notify({ ...notice, signal: stop, post: () => new Promise<void>((resolve) => posts.push(resolve)) });
    return { tell, claims, posts };
  }

  async function until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await new Promise(setImmediate);
  }

  it("are four of strangers at once; what comes meanwhile is not told, and not counted as told", async () => {
    const { tell, claims, posts } = setUp();
    const told = Array.from({ length: 20 }, () => tell(stranger));
    await Promise.all(told.slice(4));
    expect([posts.length, claims.length]).toEqual([4, 4]);
    for (const end of posts) end();
    await Promise.all(told);
    const next = tell(stranger);
    await until(() => posts.length === 5);
    posts[4]?.();
    await next;
  });

  it("reach people who may ask, however many strangers' are under way; they wait for one of four places", async () => {
    const { tell, claims, posts } = setUp();
    const told = Array.from({ length: 20 }, () => tell(stranger));
    await Promise.all(told.slice(4));
    told.push(...Array.from({ length: 6 }, () => tell(allowed)));
    await until(() => posts.length === 8);
    await new Promise(setImmediate);
    expect([posts.length, claims.filter((user) => user === "U1").length]).toEqual([8, 4]);
    for (const end of posts.splice(0)) end();
    await until(() => posts.length === 2);
    for (const end of posts) end();
    await Promise.all(told);
    expect(claims.filter((user) => user === "U1")).toHaveLength(6);
  });

  it.each([
    ["a stranger's", stranger],
    ["another's", allowed],
  ])("end with the step, and free their place: %s", async (_whose, notice) => {
    const { tell, posts } = setUp();
    for (let n = 0; n < 5; n++) {
      const stop = new AbortController();
      const told = tell(notice, stop.signal);
      await until(() => posts.length === n + 1);
      stop.abort(new Error("the lease is over"));
      await expect(told).rejects.toThrow("the lease is over");
    }
  });

  it("that still wait end with the step, and are not sent later", async () => {
    const { tell, posts } = setUp();
    const sent = Array.from({ length: 4 }, () => tell(allowed));
    await until(() => posts.length === 4);
    const stop = new AbortController();
    const waiting = tell(allowed, stop.signal);
    stop.abort(new Error("the lease is over"));
    await expect(waiting).rejects.toThrow("the lease is over");
    for (const end of posts) end();
    await Promise.all(sent);
    expect(posts).toHaveLength(4);
  });
});
