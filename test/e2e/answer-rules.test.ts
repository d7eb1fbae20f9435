/** A link to sign in, and an approval by two people, over every transport: what each person sees, and what the agent gets. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type E2eWorld,
  inThread,
  startWorld,
  type TransportName,
  textsOf,
  together,
  transports,
  until,
  withButton,
} from "./world.ts";

const asker = "UPERSON";
const other = "UHANAKO";
/** Its path is the id of the task at the host. */
const link = /https:\/\/example\.com\/sign-in\/[\w-]+/;

const stories = {
  async "a person signs in by a link that nobody else gets"(world: E2eWorld) {
    const { fakeSlack, eventsUrl } = world;
    const post = world.ask("private, ask sign-in");
    const { channel, ts, text } = await withButton(world, post, "Sign in");
    expect(text).toMatch(/^Waiting for <@UPERSON> to sign in\./);
    const click = (user: string) =>
      fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Sign in", user }).delivered;
    await click(other);
    await until(() => fakeSlack.ephemeralMessages().some(({ user }) => user === other));
    expect(fakeSlack.modals()).toEqual([]);
    await click(asker);
    const modal = await until(() => fakeSlack.modals().find(({ user }) => user === asker));
    const label = "Open the sign-in page";
    const { url = "", delivered } = fakeSlack.clickModalButton({ eventsUrl, id: modal.id, label });
    expect((await delivered).status).toBe(200);
    expect(url).toMatch(link);
    expect(JSON.stringify(modal.view.blocks)).toContain("*example.com*");
    await fakeSlack.submitModal({ eventsUrl, id: modal.id, filledIn: {} });
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    const [question, answer, ...more] = world.answersTo(post.message);
    expect(question?.text).toMatch(/^✔ Signed in — <@UPERSON>, /);
    expect(answer?.text).toContain("see your travel papers. Signed in.");
    expect(more).toEqual([]);
    const seenByAll = [fakeSlack.messages(), fakeSlack.ephemeralMessages(), world.lines];
    expect(JSON.stringify(seenByAll)).not.toMatch(link);
  },

  async "two people approve, and the agent gets both names"(world: E2eWorld) {
    const { fakeSlack, eventsUrl } = world;
    const post = world.ask("private, ask approval");
    const { channel, ts } = await withButton(world, post, "Begin");
    const approve = (user: string) =>
      fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Begin", user });
    approve(other);
    await inThread(world, post, ({ text }) => text.includes("1 of 2 approved: <@UHANAKO>"));
    const reply = fakeSlack.reply({ eventsUrl, threadTs: post.message.ts, text: "yes, begin" });
    await until(() => fakeSlack.ephemeralMessages().some(({ text }) => text.includes("Press one")));
    approve(asker);
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    const texts = textsOf(world.answersTo(post.message));
    expect(texts).toMatch(/✔ \*Begin\* — <@UHANAKO>, <@UPERSON>, /);
    expect(texts).toContain("go, approved by UHANAKO and UPERSON");
    expect(texts.match(/I'm the echo agent/g)).toHaveLength(1);
    expect(reply.requestId).not.toBe(post.requestId);
  },

  async "one person says no"(world: E2eWorld) {
    const { fakeSlack, eventsUrl } = world;
    const post = world.ask("private: ask approval, please");
    const { channel, ts } = await withButton(world, post, "Stay");
    fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Stay", user: other });
    await world.over(post.requestId);
    expect(textsOf(world.answersTo(post.message))).toMatch(/✔ \*Stay\* — <@UHANAKO>[\s\S]* stay$/m);
  },
};

const worlds = new Map<TransportName, { world: E2eWorld; runs: ReturnType<typeof together> }>();

beforeAll(async () => {
  for (const transport of transports) {
    const world = await startWorld({ transport, questions: { answerBy: "anyone" } });
    worlds.set(transport, { world, runs: together<[E2eWorld]>(stories, world) });
  }
});
afterAll(() => Promise.all([...worlds.values()].map(({ world }) => world.close())));

describe.each(transports)("over %s", (transport) => {
  it.each(Object.keys(stories))("completes the story: %s", (name) =>
    worlds.get(transport)?.runs.get(name),
  );

  it("keeps no link in a record of either zone once its question is over", async () => {
    const { world, runs } = worlds.get(transport) ?? {};
    await Promise.allSettled(runs?.values() ?? []);
    const records = world?.observations.map(({ task }) => task) ?? [];
    const open = records.filter((task) => link.test(JSON.stringify(task)));
    expect(open.length).toBeGreaterThan(0);
    for (const task of open) expect([task.state, task.outcome]).toEqual(["asking", undefined]);
    const last = records.findLast(({ id }) => id === open[0]?.id);
    expect(JSON.stringify(last)).not.toMatch(link);
  });
});
