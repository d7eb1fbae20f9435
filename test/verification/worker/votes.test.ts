/** People vote on an answer: one vote a person, stored first, then told to the Execution zone. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Gate } from "@sekisho/verification/gate/gate.ts";
import type { ButtonClick } from "@sekisho/verification/task/messages.ts";
import { newZoneSecret, withNewSecret, zoneSecretId } from "@sekisho/verification/zone-secret.ts";
import { deaths, failing, type MaybeFault, nthFault } from "../../world/faults.ts";
import { createWorld, runWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const firstAtMs = askedAtMs + 600_000;

type World = ReturnType<typeof createWorld>;
type Vote = "up" | "down";

function click(vote: Vote, changes: Partial<ButtonClick> = {}): ButtonClick {
  return sampleClick({ type: "feedback", vote }, { atMs: firstAtMs, ...changes });
}

const storedVotes = ({ records }: World) =>
  records.get(ask.requestId)?.votes?.map(({ vote }) => vote);
const toldVotes = ({ votes }: World) => votes.map(({ vote }) => vote);

async function replaceSecret(world: World): Promise<void> {
  const item = await world.secretStore.get({ id: zoneSecretId });
  if (item === undefined) throw new Error("The world has no secret.");
  await world.secretStore.replace({
    item: withNewSecret(item, { value: newZoneSecret(), nowMs: world.now() }),
  });
}

describe("a vote", () => {
  it("stores a vote and sends it to the Execution zone without the Slack id of the person", async () => {
    const world = await runWorld();
    await world.clickButton(click("up")).run();
    expect(storedVotes(world)).toEqual(["up"]);
    expect(world.votes).toEqual([
      {
        request_id: ask.requestId,
        vote: "up",
        voter_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        voted_at: new Date(firstAtMs).toISOString(),
      },
    ]);
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("includes the task id of the host in a vote", async () => {
    const world = await runWorld({ pollsUntilDone: 2 });
    await world.clickButton(click("down")).run();
    expect(world.votes).toMatchObject([{ task_id: "t-1", vote: "down" }]);
  });

  it("keeps one vote per person and lets it change", async () => {
    const world = await runWorld();
    await world.clickButton(click("up")).run();
    await world.clickButton(click("down", { atMs: firstAtMs + 1000 })).run();
    await world.clickButton(click("up", { user: "U2" })).run();
    expect(storedVotes(world)?.sort()).toEqual(["down", "up"]);
    expect(toldVotes(world)).toEqual(["up", "down", "up"]);
    expect(new Set(world.votes.map(({ voter_id }) => voter_id)).size).toBe(2);
  });

  it("keeps one vote per person after the zone secret was replaced", async () => {
    const world = await runWorld();
    await world.clickButton(click("up")).run();
    await replaceSecret(world);
    world.pass(24 * 3600_000);
    await world.clickButton(click("down", { atMs: firstAtMs + 1000 })).run();
    expect(storedVotes(world)).toEqual(["down"]);
    expect(new Set(world.votes.map(({ voter_id }) => voter_id)).size).toBe(1);
  });

  it("ignores a vote that is delivered twice or after a later one", async () => {
    const world = await runWorld();
    const late = click("up");
    await world.clickButton(click("down", { atMs: firstAtMs + 1000 })).run();
    world.clickButton(late);
    await world.clickButton(late).run();
    expect(storedVotes(world)).toEqual(["down"]);
    expect(new Set(toldVotes(world))).toEqual(new Set(["down"]));
  });

  it("refuses a vote of a person who is not allowed in the channel, and tells only them", async () => {
    const world = await runWorld({
      gate: { mayAskThere: async ({ person }) => person.user === "U1" },
    });
    await world.clickButton(click("down", { user: "U2" })).run();
    expect(world.ephemeralMessages).toMatchObject([{ user: "U2", text: '{"type":"not_yours"}' }]);
    expect([storedVotes(world), world.votes]).toEqual([undefined, []]);
  });

  it.each<[string, Partial<ButtonClick>]>([
    ["from another channel", { channel: "C2" }],
    ["on a task that does not exist", { requestId: "00000000-0000-5000-8000-0000000000ff" }],
  ])("refuses a vote %s", async (_what, changes) => {
    const world = await runWorld();
    await world.clickButton(click("up", changes)).run();
    expect([storedVotes(world), world.votes]).toEqual([undefined, []]);
  });

  it("applies the rules for other organizations to votes in a shared channel", async () => {
    const sharedAsk = { ...ask, message: { ...ask.message, external: "channels" as const } };
    const gateRequests: unknown[] = [];
    const mayAskThere: Gate["mayAskThere"] = async ({ person: { user, external } }) => {
      gateRequests.push([user, external]);
      return external === "people";
    };
    const world = createWorld({ gate: { mayAskThere } });
    await world.deliver(sharedAsk).run();
    await world.clickButton(click("up", { team: "T2", userTeam: "T2", user: "U2" })).run();
    await world.clickButton(click("down", { userTeam: "T1" })).run();
    expect(gateRequests).toEqual([
      ["U2", "people"],
      ["U1", "channels"],
    ]);
    expect(toldVotes(world)).toEqual(["up"]);
  });

  it("refuses a vote on a failure", async () => {
    const world = await runWorld({
      story: () => {
        throw new SekishoError("execution_failed");
      },
    });
    await world.clickButton(click("up")).run();
    expect([storedVotes(world), world.votes]).toEqual([undefined, []]);
  });

  it("waits while a worker acts on the task and then counts the vote once", async () => {
    const world = createWorld();
    await world.deliver(ask).run({ until: () => world.answers().length === 1 });
    world.changeTask(ask, { lease: { owner: "w", untilMs: world.now() + 20_000 } });
    await world.clickButton(click("up", { atMs: world.now() })).run({ maxSteps: 1 });
    expect(storedVotes(world)).toBeUndefined();
    await world.run();
    expect(storedVotes(world)).toEqual(["up"]);
  });
});

describe("an Execution zone", () => {
  it("calls a zone that lacks the method once and keeps the vote", async () => {
    let calls = 0;
    const fault = failing(
      new SekishoError("method_not_found"),
      ({ name }) => name === "feedback" && ++calls > 0,
    );
    const world = await runWorld({ fault });
    await world.clickButton(click("up")).run();
    expect(calls).toBe(1);
    expect([storedVotes(world), world.answers()]).toEqual([["up"], ["A checkpoint."]]);
  });

  it("keeps a vote without sending it over A2A", async () => {
    const world = await runWorld({ destination: { takesVotes: false } });
    await world.clickButton(click("up")).run();
    expect([toldVotes(world), storedVotes(world)]).toEqual([[], ["up"]]);
  });

  it.each(["refused", "lost"] as const)(
    "sends a vote to a zone that was away (%s) when it is back",
    async (kind) => {
      let isAway = true;
      let calls = 0;
      const fault = ({ name }: { name: string }): MaybeFault => {
        if (name !== "feedback") return;
        calls += 1;
        return isAway && kind;
      };
      const world = await runWorld({ fault });
      await world.clickButton(click("up")).run({ until: () => calls === 3 });
      expect(storedVotes(world)).toEqual(["up"]);
      isAway = false;
      await world.run();
      expect(toldVotes(world)).toEqual(["up"]);
    },
  );

  it("calls an absent zone once per delivery of the click and queues nothing else", async () => {
    let calls = 0;
    const world = await runWorld({
      fault: ({ name }): MaybeFault => name === "feedback" && ++calls > 0 && "refused",
    });
    await world.clickButton(click("up")).run({ until: () => calls === 9 });
    expect(storedVotes(world)).toEqual(["up"]);
    expect(world.loseMessages()).toBe(1);
  });

  it("sends a vote that another version stored and queued", async () => {
    const world = await runWorld();
    const record = world.taskOf(ask);
    if (record === undefined) throw new Error("There is no record.");
    const votes = [{ voterId: "v", vote: "up" as const, atMs: firstAtMs }];
    world.records.set(ask.requestId, { ...record, votes });
    const voteGiven = { type: "vote_given", requestId: ask.requestId, voterId: "v", tries: 3 };
    world.queueRaw(JSON.stringify(voteGiven));
    await world.run();
    expect(toldVotes(world)).toEqual(["up"]);
  });

  it("sends the latest vote to a zone that was away", async () => {
    let isAway = true;
    const fault = ({ name }: { name: string }): MaybeFault =>
      name === "feedback" && isAway && "refused";
    const world = await runWorld({ fault });
    world.clickButton(click("up"));
    await world.clickButton(click("down", { atMs: firstAtMs + 1000 })).run({ maxSteps: 4 });
    isAway = false;
    await world.run();
    expect(new Set(toldVotes(world))).toEqual(new Set(["down"]));
  });
});

describe("a vote whose worker dies", () => {
  const isOfVote = ({ party }: { party: string }) => party !== "slack";

  it.each(deaths)(
    "a worker death (%s) at any operation of a vote still stores and sends it",
    async (fault) => {
      let operations = 0;
      const base = createWorld({
        fault(operation) {
          if (isOfVote(operation)) operations += 1;
        },
      });
      await base.deliver(ask).run();
      const operationCount = operations;
      await base.clickButton(click("up")).run();
      const ofVote = operations - operationCount;
      expect(ofVote).toBeGreaterThan(2);
      for (let nth = operationCount; nth < operationCount + ofVote; nth++) {
        const world = createWorld({ fault: nthFault(nth, fault, isOfVote) });
        await world.deliver(ask).run();
        await world.clickButton(click("up")).run();
        expect([nth, storedVotes(world)]).toEqual([nth, ["up"]]);
        expect(new Set(toldVotes(world))).toEqual(new Set(["up"]));
        expect(world.answers()).toEqual(["A checkpoint."]);
      }
    },
  );
});
