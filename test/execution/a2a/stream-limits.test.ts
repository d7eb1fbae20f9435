/** Streams of one caller are bounded: one too many is refused before anything is begun, and a closed one makes room. */
import { describe, expect, it } from "@jest/globals";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { createGate, eventually } from "../test-host.ts";
import { startA2aHost, userMessage } from "./a2a-host.ts";
import { closedAfterEach } from "./closed-after-each.ts";

const serve = closedAfterEach(startA2aHost);
const message = () => ({ message: userMessage("hi") });

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
