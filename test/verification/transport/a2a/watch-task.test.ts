/** Polls that wait by the stream of a task: what they show, and when they ask for the task itself. */
import { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { InMemoryTaskStore, ResultManager, ServerCallContext } from "@a2a-js/sdk/server";
import { describe, expect, it } from "@jest/globals";
import { type ReadEvent, readEventSchema } from "@sekisho/contracts/a2a/read-event.ts";
import { type ReadTask, readTaskSchema } from "@sekisho/contracts/a2a/read-task.ts";
import type { StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { applyEvent } from "@sekisho/verification/transport/a2a/task-view.ts";
import fc from "fast-check";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import type { AgentCall } from "../../../doubles/a2a-peer-agent.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { agentOf } from "./sample.ts";

type Version = "1.0" | "0.3";

const snapshot = (texts: readonly string[] = [], more: object = {}) => ({
  task: {
    ...{ id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" }, ...more },
    artifacts: texts.map((text, index) => ({ artifactId: `a${index}`, parts: [{ text }] })),
  },
});
const appended = (text: string, more: object = {}) => ({
  artifactUpdate: {
    ...{ taskId: "t1", contextId: "c1", append: true, ...more },
    artifact: { artifactId: "a0", parts: [{ text }] },
  },
});
const status = (state: string, text?: string) => ({
  statusUpdate: {
    ...{ taskId: "t1", contextId: "c1" },
    status: {
      state: `TASK_STATE_${state}`,
      ...(text && { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text }] } }),
    },
  },
});
const inVersion = (version: Version, event: object) =>
  version === "1.0"
    ? event
    : resultToV03({ operation: "SubscribeToTask", result: event as StreamEvent });

const eventStream = { headers: { "content-type": "text/event-stream" } };

/** The stream ends after the results, stays open, or breaks off. */
function streamOf(
  { id }: Pick<AgentCall, "id">,
  results: readonly unknown[],
  end: "close" | "stay" | "break" = "stay",
): Response {
  const bytes = results.map((result) =>
    Buffer.from(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`),
  );
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = bytes.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      if (end === "close") return controller.close();
      return end === "break"
        ? controller.error(new Error("cut on purpose"))
        : new Promise(() => {});
    },
  });
  return raw(stream, eventStream);
}

/** An agent with streams. `polled` is the task for GetTask. */
async function streamingAgent(options: {
  version?: Version;
  capabilities?: unknown;
  stream: (call: AgentCall) => object | Response;
  polled?: object;
}) {
  const { version = "1.0", capabilities = { streaming: true }, stream } = options;
  const { polled = snapshot(["polled"]).task } = options;
  const agent = await agentOf({
    version,
    card: (_, base) => json({ ...cardOf({ url: `${base}/a2a`, version }), capabilities }),
    answer: (call) => {
      const isPoll = call.method === "GetTask" || call.method === "tasks/get";
      if (!isPoll) return stream(call);
      return {
        result:
          version === "1.0"
            ? polled
            : resultToV03({ operation: "GetTask", result: polled as never }),
      };
    },
  });
  return {
    ...agent,
    methods: () => agent.calls.map(({ method }) => method),
    poll: (waitMs?: number) => agent.call("get_task", { task_id: "t1", wait_ms: waitMs }),
  };
}

const longMs = 20_000;
const partial = (text: string) => ({
  ...{ status: "accepted", task_id: "t1" },
  progress: { partial_text: text },
});

describe("a poll that waits", () => {
  it.each(["1.0", "0.3"] as const)(
    "returns as soon as the task's stream has news, in %s",
    async (version) => {
      const events = [
        ...[snapshot(["Hel"]), status("WORKING"), { ...appended("") }, appended("lo")],
        appended(" and more"),
      ];
      const agent = await streamingAgent({
        version,
        stream: (call) =>
          streamOf(
            call,
            events.map((event) => inVersion(version, event)),
          ),
      });
      expect(await agent.poll(longMs)).toEqual(partial("Hello"));
      expect(agent.calls).toMatchObject([
        {
          method: version === "1.0" ? "SubscribeToTask" : "tasks/resubscribe",
          params: { id: "t1" },
        },
      ]);
      expect(agent.calls[0]?.headers.get("accept")).toContain("text/event-stream");
    },
  );

  it("returns at once what has changed since the poll before it", async () => {
    const agent = await streamingAgent({
      polled: snapshot(["Hel"]).task,
      stream: (call) => streamOf(call, [snapshot(["Hello"]), { ...appended("!") }]),
    });
    await agent.poll();
    expect(await agent.poll(longMs)).toEqual(partial("Hello"));
    expect(agent.methods()).toEqual(["GetTask", "SubscribeToTask"]);
  });

  it("returns the task as the stream shows it after a wait without news", async () => {
    const agent = await streamingAgent({
      stream: (call) => streamOf(call, [snapshot(["Hel"]), { ...status("WORKING") }]),
    });
    expect(await agent.poll(150)).toEqual(partial("Hel"));
    expect(await agent.poll(150)).toEqual(partial("Hel"));
    expect(agent.methods()).toEqual(["SubscribeToTask", "SubscribeToTask"]);
  });

  it("shows a status message as progress beside the partial answer", async () => {
    const agent = await streamingAgent({
      stream: (call) => streamOf(call, [snapshot(["Hel"]), status("WORKING", "reading")]),
    });
    expect(await agent.poll(longMs)).toMatchObject({
      progress: { text: "reading", partial_text: "Hel" },
    });
  });

  it.each(["COMPLETED", "INPUT_REQUIRED", "FAILED"])(
    "asks for the task itself when its stream says %s",
    async (state) => {
      const { task } = snapshot(["Hello"], { status: { state: "TASK_STATE_COMPLETED" } });
      const agent = await streamingAgent({
        polled: task,
        stream: (call) => streamOf(call, [snapshot(["Hel"]), status(state)]),
      });
      expect(await agent.poll(longMs)).toEqual({ status: "success", response_text: "Hello" });
      expect(agent.methods()).toEqual(["SubscribeToTask", "GetTask"]);
    },
  );

  const other = (event: object) => JSON.parse(JSON.stringify(event).replaceAll("t1", "t2"));
  const endless = { ...appended("x".repeat(600_000), { append: false }) };
  it.each<[string, (call: AgentCall) => object | Response]>([
    ["says that the task is over", () => ({ error: { code: -32004, message: "over" } })],
    ["has no such method", () => ({ error: { code: -32601, message: "unknown" } })],
    ["refuses its version", () => ({ error: { code: -32009, message: "no" } })],
    ["answers with a task in JSON", () => ({ result: snapshot(["other"]).task })],
    ["is not found", () => raw("no", { status: 404 })],
    ["is overloaded", () => raw("{}", { status: 503 })],
    ["is a page", () => raw("<p>", { headers: { "content-type": "text/html" } })],
    ["ends at once", (call) => streamOf(call, [], "close")],
    ["ends without news", (call) => streamOf(call, [snapshot(["Hel"])], "close")],
    ["breaks off", (call) => streamOf(call, [snapshot(["Hel"])], "break")],
    ["begins with a change", (call) => streamOf(call, [appended("lo")])],
    ["shows another task", (call) => streamOf(call, [other(snapshot(["secret"]))])],
    [
      "changes another task",
      (call) => streamOf(call, [snapshot(["Hel"]), other(appended("secret"))]),
    ],
    [
      "has a message",
      (call) => streamOf(call, [{ message: { messageId: "m1", parts: [{ text: "hi" }] } }]),
    ],
    ["has null", (call) => streamOf(call, [null, snapshot(["Hel"]), appended("lo")])],
    ["has a text that is none", (call) => streamOf(call, [snapshot(), appended(7 as never)])],
    ["has the id of another call", () => streamOf({ id: "other" }, [snapshot(["Hel"])])],
    ["has an unknown state", (call) => streamOf(call, [snapshot(), status("DREAMING")])],
    [
      "is larger than what is read",
      (call) => streamOf(call, [snapshot(["x".repeat(13_000)]), endless, endless]),
    ],
    [
      "has more parts than are read",
      (call) => streamOf(call, [snapshot(Array.from({ length: 10_001 }, () => ""))]),
    ],
  ])("asks for the task itself if its stream %s", async (_name, stream) => {
    const agent = await streamingAgent({ stream });
    expect(await agent.poll(longMs)).toEqual(partial("polled"));
    expect(agent.methods()).toEqual(["SubscribeToTask", "GetTask"]);
  });

  it("asks for the task itself after a wait in which its stream says nothing", async () => {
    const agent = await streamingAgent({ stream: (call) => streamOf(call, []) });
    expect(await agent.poll(100)).toEqual(partial("polled"));
  });

  it.each<[string, unknown, number | undefined]>([
    ["has no streams", { streaming: false }, longMs],
    ["says nothing of streams", {}, longMs],
    ["has broken capabilities", { streaming: "yes", extensions: 7 }, longMs],
    ["has no capabilities", null, longMs],
    ["need not wait", { streaming: true }, undefined],
    ["need not wait at all", { streaming: true }, 0],
  ])("asks for the task itself if the agent %s", async (_name, capabilities, waitMs) => {
    const agent = await streamingAgent({ capabilities, stream: () => ({ error: {} }) });
    expect(await agent.poll(waitMs)).toEqual(partial("polled"));
    expect(agent.methods()).toEqual(["GetTask"]);
  });

  it("ends with its call, without another one", async () => {
    const gone = new AbortController();
    const agent = await streamingAgent({
      stream: (call) => {
        setTimeout(() => gone.abort(), 50);
        return streamOf(call, [snapshot(["Hel"])]);
      },
    });
    const params = { task_id: "t1", wait_ms: longMs };
    await expect(agent.call("get_task", params, { signal: gone.signal })).rejects.toMatchObject({
      reason: "unavailable",
    });
    expect(agent.methods()).toEqual(["SubscribeToTask"]);
  });

  it("never shows a part of an event, wherever the stream is cut", async () => {
    const whole = await streamOf({ id: "?" }, [snapshot(["Hel"]), appended("lo")], "close").text();
    let length = 0;
    const agent = await streamingAgent({
      polled: snapshot(["Hel"]).task,
      stream: ({ id }) => raw(whole.slice(0, length).replaceAll('"?"', `"${id}"`), eventStream),
    });
    const lengths = Array.from({ length: whole.length }, (_, index) => index);
    const isTried = (at: number) => at % 10 === 0 || at > whole.length - 10;
    for (length of [...lengths.filter(isTried), whole.length]) {
      const text = length === whole.length ? "Hello" : "Hel";
      expect(await agent.poll(longMs)).toEqual(partial(text));
    }
  });
});

const text = fc.string({ maxLength: 3 });
const artifactEvent = fc.record({
  artifact: fc.record({
    artifactId: fc.constantFrom("a0", "a1", "a2"),
    parts: fc.array(fc.record({ text }), { minLength: 1, maxLength: 3 }),
  }),
  append: fc.boolean(),
  lastChunk: fc.boolean(),
});
const changes = fc.array(
  fc.oneof(
    artifactEvent.map((update) => ({ artifactUpdate: update })),
    text.map((words) => status("WORKING", `${words}.`)),
  ),
  { maxLength: 20 },
);

/** The task that the server of the official SDK has after the events. */
async function taskOfSdk(events: readonly ReturnType<typeof named>[]): Promise<ReadTask> {
  const store = new InMemoryTaskStore();
  const context = new ServerCallContext();
  const manager = new ResultManager(store, context);
  await manager.processEvent({ kind: "task", data: Task.fromJSON(snapshot(["Hel"]).task) });
  for (const event of events) {
    await manager.processEvent(
      "artifactUpdate" in event
        ? { kind: "artifactUpdate", data: TaskArtifactUpdateEvent.fromJSON(event.artifactUpdate) }
        : { kind: "statusUpdate", data: TaskStatusUpdateEvent.fromJSON(event.statusUpdate) },
    );
  }
  const task = await store.load("t1", context);
  return readTaskSchema.parse(Task.toJSON(task as Task));
}

const named = <T extends object>(event: T) =>
  ("artifactUpdate" in event
    ? { artifactUpdate: { taskId: "t1", contextId: "c1", ...Object(event.artifactUpdate) } }
    : event) as { artifactUpdate: unknown } | ReturnType<typeof status>;

/** An artifact that is unknown cannot be appended to: the SDK drops what this client shows. */
function withKnownArtifacts(events: readonly ReturnType<typeof named>[]) {
  const ids = new Set(["a0"]);
  return events.map((event) => {
    if (!("artifactUpdate" in event)) return event;
    const { artifactUpdate } = event;
    const { artifact } = Object(artifactUpdate) as { artifact: { artifactId: string } };
    const isKnown = ids.has(artifact.artifactId);
    ids.add(artifact.artifactId);
    return isKnown ? event : { artifactUpdate: { ...Object(artifactUpdate), append: false } };
  });
}

describe("the events of a stream", () => {
  it("add up to the task of the official SDK's server", async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (list) => {
        const events = withKnownArtifacts(list.map(named));
        const read = (event: unknown): ReadEvent => readEventSchema.parse(event);
        const seenTask = events.reduce<ReadTask | undefined>(
          (task, event) => applyEvent({ task, event: read(event) }),
          applyEvent({ task: undefined, event: read(snapshot(["Hel"])) }),
        );
        const { artifacts, status: sdkStatus } = await taskOfSdk(events);
        expect(seenTask).toMatchObject({ artifacts, status: sdkStatus });
      }),
    );
  });

  it("begin an artifact with parts that are appended to an unknown one", () => {
    const task = readTaskSchema.parse(snapshot().task);
    const event = readEventSchema.parse(appended("lo"));
    expect(applyEvent({ task, event })?.artifacts).toMatchObject([{ parts: [{ text: "lo" }] }]);
  });

  it("ignore names that JavaScript treats in a special way", () => {
    const names = ["__proto__", "constructor", "toString"];
    const task = names.reduce<ReadTask | undefined>(
      (current, artifactId) =>
        applyEvent({
          task: current,
          event: readEventSchema.parse({
            artifactUpdate: {
              taskId: "t1",
              append: true,
              artifact: { artifactId, parts: [{ text: "x" }] },
            },
          }),
        }),
      readTaskSchema.parse(snapshot().task),
    );
    expect(task?.artifacts?.map(({ artifactId }) => artifactId)).toEqual(names);
  });
});
