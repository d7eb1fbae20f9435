/** The bundled file as an A2A agent: where clients find it, what survives its end, and how it ends under them. */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { AgentCard } from "../../../contracts/a2a/card.ts";
import type { A2aTask, StreamEvent } from "../../../contracts/a2a/task.ts";
import { dataOf, userMessage } from "../a2a/a2a-host.ts";
import { startReceiver, statesOf } from "../a2a/push-zone.ts";
import { eventually, hello } from "../test-host.ts";
import { bundleContainer, type Containers, type Started, startText } from "./bundled-container.ts";

let containers: Containers;
beforeAll(async () => {
  containers = await bundleContainer({ config: { execution: { agent: "echo" } } });
});
afterAll(() => containers.remove());
afterEach(() => containers.clear());

const platform = { type: "platform" };
const everywhere = { SEKISHO_HOSTNAME: "" };

function start(execution: object, more: Record<string, string> = {}): Promise<Started> {
  const { folder, env } = containers.withConfig(execution);
  return containers.start({ folder, env: { ...env, ...more } });
}

function cardOf(url: string): Promise<Response> {
  return fetch(`${url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } });
}

function post(url: string, method: string, params: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  return fetch(`${url}/a2a`, {
    method: "POST",
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }),
  });
}

async function result<T = A2aTask>(url: string, method: string, params: unknown): Promise<T> {
  return ((await (await post(url, method, params)).json()) as { result: T }).result;
}

describe("a container", () => {
  it("is an A2A agent at the address that its configuration says", async () => {
    const { url } = await start({ a2a: { url: "https://agents.example/a2a" }, authenticator: platform }, everywhere);
    const card = (await (await cardOf(url)).json()) as AgentCard;
    expect(card.supportedInterfaces.map((each) => each.url)).toEqual(new Array(2).fill("https://agents.example/a2a"));
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
    const { task } = await result<{ task: A2aTask }>(url, "SendMessage", { message: userMessage("hi") });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("is one on loopback where it was not told its address, and none elsewhere", async () => {
    const [near, far] = await Promise.all([start({}), start({ authenticator: platform }, everywhere)]);
    const card = (await (await cardOf(near.url)).json()) as AgentCard;
    expect(card.supportedInterfaces[0]?.url).toBe(`${near.url}/`);
    expect((await cardOf(far.url)).status).toBe(404);
    expect((await far.call("SendMessage", { message: userMessage("hi") })).error?.code).toBe(-32601);
    expect((await far.call("execute_task", hello)).result?.status).toBe("success");
  });

  it("tells a receiver that was away after its own next start", async () => {
    const receiver = await startReceiver({ answers: [503, 503] });
    const execution = { a2a: { push: { allowLoopback: true } } };
    const first = await start(execution);
    const configuration = { taskPushNotificationConfig: { url: receiver.url } };
    await result(first.url, "SendMessage", { message: userMessage("hi"), configuration });
    await eventually(() => statesOf(receiver.received).includes("TASK_STATE_COMPLETED"));
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    const told = receiver.received.length;
    const env = { SEKISHO_CONFIG_FILE: "other.json" };
    await containers.start({ folder: first.folder, env });
    await eventually(() => receiver.received.length > told);
    expect(statesOf(receiver.received).at(-1)).toBe("TASK_STATE_COMPLETED");
    await receiver.close();
  });

  it("ends its streams on SIGTERM as streams end, and itself with 0, however long a question may wait", async () => {
    const { url, child, exit } = await start({});
    const { task } = await result<{ task: A2aTask }>(url, "SendMessage", { message: userMessage("ask me") });
    const stream = dataOf(await post(url, "SubscribeToTask", { id: task.id }));
    const { value: first = "{}" } = await stream.next();
    expect((JSON.parse(first) as { result: StreamEvent }).result).toMatchObject({ task: { id: task.id } });
    child.kill("SIGTERM");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(await exit).toEqual([0, null]);
  });
});

describe("a container that cannot start ends with 1 and a line that says why", () => {
  const signature = { key: { env: "CARD_KEY" }, keyId: "k" };
  const other = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

  it.each<[string, object, Record<string, string>, RegExp]>([
    ["its key is not there", { a2a: { signature } }, {}, /CARD_KEY is not set/],
    ["its key is none", { a2a: { signature } }, { CARD_KEY: "hunter2" }, /execution\.a2a\.signature/],
    ["its key is of another algorithm", { a2a: { signature } }, { CARD_KEY: other }, /ES256/],
    ["anyone could call it", { a2a: { url: "https://agents.example/" } }, everywhere, /Anyone could run tasks/],
  ])("because %s", async (_why, execution, more, why) => {
    const { folder, env } = containers.withConfig(execution);
    const { exit, said } = containers.run(startText, { folder, env: { ...env, ...more } });
    expect(await exit).toEqual([1, null]);
    expect(said()).toMatch(why);
    expect(said()).not.toMatch(/hunter2|^ +at /m);
  });
});
