/** A stage whose runtime of AgentCore has the protocol A2A: for Slack over the contract, and for an A2A client of another account. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { common } from "../../tables/transport-sample.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { createCaller } from "./aws/callers.ts";
import { askAndRead } from "./stories/messages.ts";
import { a2aClient, synthesizeKind } from "./synthesized.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite("a stage with a runtime of the protocol A2A", () => {
  const closing: (() => unknown)[] = [];
  let world: World;

  beforeAll(async () => {
    const { assembly, remove } = await synthesizeKind({
      kind: "agentcore",
      stageExecution: { protocol: "a2a" },
      execution: { a2a: { callers: [a2aClient.roleArn] } },
      onlyHome: true,
    });
    closing.push(remove);
    world = await startWorld({ assembly });
    closing.push(world.close);
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  /** A client with the credentials of a role. */
  function clientOf(roleArn: string) {
    const { account, region } = a2aClient;
    const caller = createCaller({ name: "A2aClient", kind: "code", account, region, roleArn });
    world.dependencies.admit(caller);
    const [runtime] = world.resolver.resources("AWS::BedrockAgentCore::Runtime");
    const carrier = createAgentCoreTransport({
      runtimeArn: runtime?.attribute("AgentRuntimeArn") ?? "",
      qualifier: "live",
      endpoint: world.gateway.url,
      credentials: async () => caller.credentials,
    });
    closing.push(() => carrier.close?.());
    const transport = createA2aTransport({ carrier });
    const destination = { name: "a2a", dialect: "a2a", idempotent: true } as const;
    const client = createClient({
      transport,
      destination: { ...destination, callTimeoutMs: 20_000 },
      log: silentLog,
    });
    return { transport, client };
  }

  it("answers in Slack over the contract", async () => {
    await askAndRead(world, "hello over the contract", /hello over the contract/);
    expect(world.problems).toEqual([]);
  });

  it("answers an A2A client of another account, for which its policies have what the client needs", async () => {
    const { transport, client } = clientOf(a2aClient.roleArn);
    const card = await transport.describe?.({ sessionId: common.sessionId, signal: hangSignal() });
    expect(card).toMatchObject({ name: "Sekisho", version: "1.0" });
    const id = randomUUID();
    const call = { ...common, requestId: id, timeoutMs: 20_000 };
    const first = await client.call({
      ...call,
      method: "execute_task",
      params: { channel: "C1", text: "hello over A2A" },
      id,
    });
    const { task_id: taskId } = first as { task_id?: string };
    const result = await world.until("the answer of an A2A task", async () => {
      const latest = await client.call({
        ...call,
        method: "get_task",
        params: { task_id: taskId },
        id: randomUUID(),
      });
      return latest.status === "success" ? latest : undefined;
    });
    expect(result).toMatchObject({ response_text: expect.stringContaining("hello over A2A") });
    expect(world.problems).toEqual([]);
    const cardPermissions = world.authority
      .unused()
      .filter(({ action }) => action === "bedrock-agentcore:GetAgentCard");
    expect(cardPermissions).toEqual([]);
  });
});
