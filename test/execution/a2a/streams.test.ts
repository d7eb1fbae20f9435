/** Streams over sockets: what is told, in which order, to how many, from which instance, and how they end. */
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import type { A2aTask, StreamEvent } from "../../../contracts/a2a/task.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createGate, eventually, memoryStore, yielding } from "../test-host.ts";
import { type A2aHost, dataOf, startA2aHost, userMessage } from "./a2a-host.ts";
import { closedAfterEach } from "./closed-after-each.ts";

const serve = closedAfterEach(startA2aHost);

/** An event in few words. */
function told(event: StreamEvent): string {
  if ("task" in event) return `task ${event.task.status.state.slice(11)}`;
  if ("message" in event) return `message ${event.message.parts[0]?.text}`;
  if ("artifactUpdate" in event) return `artifact ${event.artifactUpdate.artifact.artifactId}`;
  const { state, message } = event.statusUpdate.status;
  return `status ${state.slice(11)}${message ? ` ${message.parts[0]?.text}` : ""}`;
}

async function allTold(stream: AsyncIterable<StreamEvent>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of stream) all.push(told(event));
  return all;
}

/** Tells of its steps one by one, each when it is let on. */
function stepping() {
  const steps: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => void steps.push(resolve));
  const agent: Agent = async function* () {
    await pause();
    yield { type: "progress", text: "reading", percent: 10 };
    await pause();
    yield { type: "artifact", artifact: { text: "made" } };
    await pause();
    yield { type: "answer", text: "done" };
  };
  return {
    agent,
    async next() {
      await eventually(() => steps.length > 0);
      steps.shift()?.();
    },
  };
}

const message = () => ({ message: userMessage("hi") });

async function begin(host: A2aHost): Promise<A2aTask> {
  const configuration = { returnImmediately: true };
  return (await host.result<{ task: A2aTask }>("SendMessage", { ...message(), configuration })).task;
}

describe("a stream", () => {
  it("begins with the task, tells progress, artifacts and the end in their order, and closes", async () => {
    const { agent, next } = stepping();
    const host = await serve({ agent });
    const stream = host.stream("SendStreamingMessage", message());
    const first = (await stream.next()).value as StreamEvent;
    expect(told(first)).toBe("task WORKING");
    const events = [];
    for (let count = 0; count < 2; count += 1) {
      await next();
      events.push(told((await stream.next()).value as StreamEvent));
    }
    await next();
    expect([...events, ...(await allTold(stream))]).toEqual([
      "status WORKING reading",
      "artifact artifact-1",
      "artifact answer",
      "status COMPLETED done",
    ]);
  });

  it("of 0.3 says by its last event that it is the last", async () => {
    const host = await serve({ agent: yielding({ type: "question", prompt: "Which?" }) });
    const said = { messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
    const events: { kind: string; final?: boolean }[] = [];
    const stream = host.stream<(typeof events)[0]>("message/stream", { message: said }, { version: "0.3" });
    for await (const event of stream) events.push(event);
    expect(events.map(({ kind, final }) => [kind, final])).toEqual([
      ["task", undefined],
      ["status-update", true],
    ]);
    expect(events[1]).toMatchObject({ status: { state: "input-required", message: { parts: [{ text: "Which?" }] } } });
  });

  it("is one message where the answer needs no task", async () => {
    const host = await serve({
      agent: yielding({ type: "answer", text: "Hello.", direct: true }),
      a2a: { firstSignMs: 5000 },
    });
    expect(await allTold(host.stream("SendStreamingMessage", message()))).toEqual(["message Hello."]);
  });

  it("ends where a question is asked, and another one goes on with its answer", async () => {
    const agent: Agent = async function* ({ answers }) {
      yield answers.length === 0 ? { type: "question", prompt: "Which?" } : { type: "answer", text: "done" };
    };
    const host = await serve({ agent });
    const events: StreamEvent[] = [];
    for await (const event of host.stream("SendStreamingMessage", message())) events.push(event);
    expect(events.map(told)).toEqual(["task WORKING", "status INPUT_REQUIRED Which?"]);
    const [first] = events;
    const taskId = first && "task" in first ? first.task.id : "";
    const answer = { message: userMessage("this", { taskId }) };
    expect(await allTold(host.stream("SendStreamingMessage", answer))).toEqual([
      "task WORKING",
      "artifact answer",
      "status COMPLETED done",
    ]);
  });

  it("tells all who subscribe the same, on the instance that runs the task and on any other", async () => {
    const { agent, next } = stepping();
    const store = memoryStore();
    const [runner, other] = [await serve({ store, agent }), await serve({ store })];
    const { id } = await begin(runner);
    const streams = [runner, runner, other].map((host) => host.stream("SubscribeToTask", { id }));
    for (const stream of streams) expect(told((await stream.next()).value as StreamEvent)).toBe("task WORKING");
    const seen = streams.map(() => [] as string[]);
    for (let count = 0; count < 2; count += 1) {
      await next();
      for (const [index, stream] of streams.entries())
        seen[index]?.push(told((await stream.next()).value as StreamEvent));
    }
    await next();
    for (const [index, stream] of streams.entries()) seen[index]?.push(...(await allTold(stream)));
    for (const events of seen) {
      expect(events).toEqual([
        "status WORKING reading",
        "artifact artifact-1",
        "artifact answer",
        "status COMPLETED done",
      ]);
    }
  });

  it("of who subscribes in 1.0 goes on over a question to the end, in 0.3 to the question", async () => {
    const agent: Agent = async function* ({ answers }) {
      yield answers.length === 0 ? { type: "question", prompt: "Which?" } : { type: "answer", text: "done" };
    };
    const store = memoryStore();
    const [one, other] = [await serve({ store, agent }), await serve({ store, agent })];
    const { task } = await one.result<{ task: A2aTask }>("SendMessage", message());
    const { id } = task;
    const older: unknown[] = [];
    for await (const event of one.stream("tasks/resubscribe", { id }, { version: "0.3" })) older.push(event);
    expect(older).toMatchObject([{ kind: "task", status: { state: "input-required" } }]);
    const streams = [one, other].map((host) => host.stream("SubscribeToTask", { id }));
    for (const stream of streams) expect(told((await stream.next()).value as StreamEvent)).toBe("task INPUT_REQUIRED");
    await other.result("SendMessage", { message: userMessage("this", { taskId: id }) });
    for (const stream of streams)
      expect((await allTold(stream)).slice(-2)).toEqual(["artifact answer", "status COMPLETED done"]);
  });

  it("ends with the cancel that another instance took", async () => {
    const store = memoryStore();
    const gate = createGate();
    const [runner, other] = [await serve({ store, agent: gate.agent, leaseMs: 40 }), await serve({ store })];
    const { id } = await begin(runner);
    const stream = runner.stream("SubscribeToTask", { id });
    await stream.next();
    await other.result("CancelTask", { id });
    expect(await allTold(stream)).toEqual(["status CANCELED The task was canceled."]);
  });

  it("is refused in one piece of JSON where it cannot begin", async () => {
    const host = await serve();
    for (const [method, params, code] of [
      ["SubscribeToTask", { id: "nothing" }, -32001],
      ["SendStreamingMessage", { message: userMessage("hi", { taskId: "nothing" }) }, -32001],
      ["SendStreamingMessage", {}, -32602],
    ] as const) {
      const { headers, error } = await host.ask(method, params);
      expect([headers.get("content-type"), error?.code]).toEqual(["application/json", code]);
    }
  });

  it("ends with an error where the task can no longer be read, and without a word of the cause", async () => {
    const kept = memoryStore();
    let isAway = false;
    const get: typeof kept.get = (request) =>
      isAway ? Promise.reject(new Error("db at 10.0.0.7")) : kept.get(request);
    const gate = createGate();
    const [runner, other] = [await serve({ store: kept, agent: gate.agent }), await serve({ store: { ...kept, get } })];
    const { id } = await begin(runner);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } });
    const response = await other.post(body, { version: "1.0" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    isAway = true;
    const all: string[] = [];
    for await (const data of dataOf(response)) all.push(data);
    expect(JSON.parse(all.at(-1) ?? "")).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(all.join("") + other.lines.join("")).not.toContain("10.0.0.7");
    gate.letGo();
  });
});

/** A client of its own socket, which reads only when it is told to. */
function subscribe(host: A2aHost, id: string): { socket: Socket; received: () => string } {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } });
  const socket = connect(host.port, "127.0.0.1");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString();
  });
  socket.on("error", () => {});
  const head = `POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body);
  return { socket, received: () => received };
}

describe("a client of a stream", () => {
  it("that says nothing for long is told that the stream is there", async () => {
    const gate = createGate();
    const host = await serve({ agent: gate.agent, a2a: { keepAliveMs: 10 } });
    const { socket, received } = subscribe(host, (await begin(host)).id);
    await eventually(() => received().split(": still here\n\n").length > 3);
    expect(received()).toContain('data: {"jsonrpc":"2.0","id":1,"result":{"task"');
    socket.destroy();
    gate.letGo();
  });

  it("that hangs up ends its own stream and nothing else", async () => {
    const { agent, next } = stepping();
    const store = memoryStore();
    let reads = 0;
    const get: typeof store.get = (request) => {
      reads += 1;
      return store.get(request);
    };
    const [runner, other] = [await serve({ store, agent }), await serve({ store: { ...store, get } })];
    const { id } = await begin(runner);
    const staying = runner.stream("SubscribeToTask", { id });
    await staying.next();
    const { socket, received } = subscribe(other, id);
    await eventually(() => received().includes("data: "));
    socket.destroy();
    // Whoever still followed would read the store once in that time.
    await eventually(async () => {
      const readsThen = reads;
      await new Promise((resolve) => setTimeout(resolve, 450));
      return reads === readsThen;
    });
    for (let count = 0; count < 3; count += 1) await next();
    expect((await allTold(staying)).at(-1)).toBe("status COMPLETED done");
  });

  it("hears the end when the server closes, at once", async () => {
    const gate = createGate();
    const host = await startA2aHost({ agent: gate.agent });
    const stream = host.stream("SubscribeToTask", { id: (await begin(host)).id });
    await stream.next();
    const rest = allTold(stream);
    await host.close();
    expect(await rest).toEqual(["status FAILED The agent ran and failed."]);
  });
});

async function open(openCallsPerCaller: number) {
  const gate = createGate();
  const host = await serve({ agent: gate.agent, limits: { runsPerCaller: 100, openCallsPerCaller } });
  return { ...gate, host };
}

describe("a stream beyond the limit of its caller", () => {
  it("is refused with a time, and no task is begun for it", async () => {
    const { host, started, letGo } = await open(1);
    const first = host.stream("SendStreamingMessage", message());
    await first.next();
    const refused = await host.ask("SendStreamingMessage", message());
    expect([refused.status, refused.error?.message]).toEqual([429, "Too many requests; try again later."]);
    expect(JSON.stringify(refused.error)).toMatch(/rate_limited/i);
    expect(started).toHaveLength(1);
    letGo();
    for await (const _event of first);
    const again = host.stream("SendStreamingMessage", message());
    expect((await again.next()).value).toBeDefined();
    for await (const _event of again);
  });

  it("finds room when a client has gone away that read nothing", async () => {
    const { host, letGo } = await open(1);
    const configuration = { returnImmediately: true };
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { ...message(), configuration });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: task.id } });
    const subscribe = async ({ signal }: AbortController) => {
      const response = await host.post(body, { version: "1.0", signal });
      if (response.status !== 200) await response.text();
      return response.status;
    };
    const [leaving, staying] = [new AbortController(), new AbortController()];
    expect(await subscribe(leaving)).toBe(200);
    expect(await subscribe(staying)).toBe(429);
    leaving.abort();
    await eventually(async () => (await subscribe(staying)) === 200);
    expect(await subscribe(staying)).toBe(429);
    staying.abort();
    letGo();
  });

  it("finds room after streams that were refused or failed", async () => {
    const { host, letGo } = await open(1);
    for (let i = 0; i < 3; i++) {
      expect((await host.ask("SubscribeToTask", { id: "no-such-task" })).error?.message).toMatch(/never known/);
    }
    letGo();
    const stream = host.stream("SendStreamingMessage", message());
    expect((await stream.next()).value).toBeDefined();
    for await (const _event of stream);
  });
});
