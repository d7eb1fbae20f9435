import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { referenceText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { type AwsEngines, startAwsEngines } from "./aws-engines.ts";
import { type E2eWorld, startWorld, type transports, until } from "./world.ts";

const describeOnAws = whyNoDynamoDb === undefined ? describe : describe.skip;
const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;

type Way = { transport: (typeof transports)[number]; openEngine?: AwsEngines["open"] };

let world: E2eWorld | undefined;

afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function cancelAtTheHost(
  { executionUrl }: E2eWorld,
  taskId: string | undefined,
): Promise<void> {
  const request = {
    jsonrpc: "2.0",
    id: randomUUID(),
    method: "cancel_task",
    params: { task_id: taskId },
  };
  await fetch(executionUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
}

/** Resolves to the host's own id of the task when it is accepted and waits for its result. */
async function accepted(
  { observations }: E2eWorld,
  requestId: string,
): Promise<string | undefined> {
  for (;;) {
    const waiting = observations.find(
      ({ task }) => task.id === requestId && task.state === "waiting",
    );
    if (waiting !== undefined) return waiting.task.call?.taskId;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** How a message can end, over a transport, on the engine that `openEngine` gives (sqlite without one). */
function stories({ transport, openEngine }: Way): void {
  const start = async (options: { deadlineMs?: number; allowed?: boolean } = {}) => {
    world = await startWorld({ transport, openEngine: await openEngine?.(), ...options });
    return world;
  };

  it("answers a task at once", async () => {
    const world = await start();
    const { message, requestId } = world.ask("What is a sekisho?");
    expect((await world.over(requestId)).outcome).toMatchObject({ type: "answer" });
    const answers = world.answersTo(message);
    expect(answers).toHaveLength(1);
    expect(answers[0]?.text).toContain("What is a sekisho?");
  });

  it("answers an accepted task later", async () => {
    const world = await start();
    const { message, requestId } = world.ask("slow 1s 関所とは何ですか 🏯");
    await accepted(world, requestId);
    expect((await world.over(requestId)).outcome).toMatchObject({ type: "answer" });
    const answers = world.answersTo(message);
    expect(answers).toHaveLength(1);
    expect(answers[0]?.text).toContain("関所とは何ですか 🏯");
  });

  it("reports a failed task", async () => {
    const world = await start();
    const { message, requestId } = world.ask("slow 600ms fail");
    expect((await world.over(requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "execution_failed",
    });
    expect(world.answersTo(message)).toHaveLength(1);
  });

  it("reports a canceled task", async () => {
    const world = await start();
    const { message, requestId } = world.ask("slow 30s");
    await cancelAtTheHost(world, await accepted(world, requestId));
    expect((await world.over(requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    expect(world.answersTo(message)).toHaveLength(1);
  });

  it("reports a task that timed out", async () => {
    const world = await start({ deadlineMs: 3000 });
    const { message, requestId } = world.ask("slow 30s");
    expect((await world.over(requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "timeout",
    });
    expect(world.answersTo(message)).toHaveLength(1);
  });

  it("tells a refused person whom to ask, with a reference", async () => {
    const world = await start({ allowed: false });
    const { message, requestId } = world.ask("What is a sekisho?");
    expect((await world.over(requestId)).outcome).toMatchObject({ type: "refused" });
    expect(world.answersTo(message)).toEqual([]);
    const ephemeralMessages = world.fakeSlack.ephemeralMessages();
    expect(ephemeralMessages).toHaveLength(1);
    const text = ephemeralMessages[0]?.text;
    expect(text).toContain(referenceText({ locale: "en", requestId }));
    for (const id of ["TSTANDIN", message.channel, message.user]) expect(text).not.toContain(id);
  });
}

describeOnAws(
  `over https on the aws engine, a message ends with exactly one visible answer when its task${leftOut}`,
  () => {
    let engines: AwsEngines;
    beforeAll(async () => {
      engines = await startAwsEngines();
    });
    afterAll(() => engines.close());
    stories({ transport: "https", openEngine: () => engines.open() });

    it("stores a task only in the configured engine", async () => {
      world = await startWorld({ transport: "https", openEngine: await engines.open() });
      const { requestId } = world.ask("What is a sekisho?");
      expect((await world.over(requestId)).outcome).toMatchObject({ type: "answer" });
      // What signs the addresses of files belongs to the machine, not to a task.
      expect(world.stored((name) => name !== "signing.key")).toBe("");
    });
  },
);

describe("the way of a message", () => {
  it("calls Slack six times per task, eight times with polls, and once per person of unknown language", async () => {
    const openWorld = await startWorld({ transport: "https", limits: { sweepAfterMs: 1000 } });
    world = openWorld;
    const calls: string[] = [];
    openWorld.fakeSlack.onCall(({ method }) => calls.push(method));
    const callsOf = async (text: string) => {
      const callsBefore = calls.length;
      const { requestId } = openWorld.ask(text);
      await until(() =>
        openWorld.observations.some(({ task }) => task.id === requestId && task.cleanupDone),
      );
      return calls.slice(callsBefore).sort();
    };
    const six = [
      "chat.postMessage",
      "chat.update",
      "conversations.replies",
      "reactions.add",
      "reactions.add",
      "reactions.remove",
    ];
    const status = "assistant.threads.setStatus";
    expect(await callsOf("hello")).toEqual([...six, "users.info"]);
    expect(await callsOf("slow 600ms")).toEqual([status, status, ...six]);
  });

  it("leaves no secret in any store, and neither a secret nor a text in any log line", async () => {
    world = await startWorld({ transport: "agentcore" });
    const { requestId } = world.ask("a very private question");
    await world.over(requestId);
    const failing = world.ask("another private question, fail");
    await world.over(failing.requestId);
    const text = world.lines.join("");
    for (const secret of [...Object.values(world.secrets), "private question", "echo agent"])
      expect(text).not.toContain(secret);
    expect(world.stored()).toContain(requestId);
    for (const secret of Object.values(world.secrets)) expect(world.stored()).not.toContain(secret);
  });

  it("writes the request id to every log line of both zones, also for polls and failures of Slack", async () => {
    world = await startWorld({ transport: "agentcore" });
    for (const method of ["conversations.replies", "chat.update", "reactions.remove"])
      world.fakeSlack.inject({ method, type: "status", status: 500 });
    world.fakeSlack.inject({ method: "chat.postMessage", type: "lost_answer" });
    const { requestId } = world.ask("slow 1s");
    await world.over(requestId);
    const lines = world.lines.map((line) => JSON.parse(line));
    const ofOthers = lines.filter(({ request_id }) => request_id !== requestId);
    expect(ofOthers.map(({ message }) => message)).toEqual([]);
    const storyRuns = lines.map(({ message, method, operation }) =>
      [message, operation ?? method ?? []].flat().join(" "),
    );
    expect(storyRuns).toEqual(
      expect.arrayContaining([
        "message_enqueued",
        "task_step",
        "call_answered execute_task",
        "call_answered get_task",
        "task_started execute_task",
        "task_ended execute_task",
        "slack_call_failed chat.postMessage",
        "slack_call_failed conversations.replies",
        "slack_call_failed chat.update",
        "slack_call_failed reactions.remove",
      ]),
    );
  });
});
