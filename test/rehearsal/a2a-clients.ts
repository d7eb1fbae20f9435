/** What A2A clients do with an Execution zone on Lambda, and what its configuration says for that. */
import { randomUUID } from "node:crypto";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import type { AgentCard } from "../../contracts/a2a/agent-card.ts";
import type { A2aTask } from "../../contracts/a2a/task.ts";
import { createSigner } from "../../lambdas/shared/aws/signer.ts";
import { roleNameOf } from "../../lib/names.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { createCaller } from "./aws/callers.ts";
import { cardPublicKey } from "./card-key.ts";
import { stageName } from "./synthesized.ts";
import type { World } from "./world.ts";

/** An agent of the zone that asks other agents: a role of another account would be in no template. */
const client = { account: "222222222222", region: "eu-central-1", name: "A2aClient" } as const;
const clientArn = `arn:aws:iam::${client.account}:role/${roleNameOf({ stageName, zone: "Execution" })}`;

/** `execution.a2a` of the stage. Whoever looks for the address is told where it is here. */
export const a2aOfStage = {
  url: "https://agents.example/",
  callers: [clientArn],
  signature: { key: { env: "CARD_KEY" }, keyId: "of-the-rehearsal", algorithm: "EdDSA" },
  push: { allowLoopback: true },
};

type Sent = { task: A2aTask };

/** Resolves when a task is over that asked once: to how often it is listed, and to the states that its receiver was told. */
export async function isServed(world: World): Promise<{ listed: number; told: string[] }> {
  const { ask, card } = openClient(world);
  await verifyAgentCardSignature(async () => cardPublicKey)((await card()) as never);
  const told: string[] = [];
  const receiver = await startWebServer({
    async handle({ body }) {
      told.push((JSON.parse(Buffer.from(body).toString()) as Sent).task.status.state);
      return new Response();
    },
  });
  try {
    const send = async (text: string, more: object = {}) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
      const configuration = { taskPushNotificationConfig: { url: receiver.url, id: "only" }, returnImmediately: true };
      return (await ask<Sent>("SendMessage", { message, configuration })).task;
    };
    const { id } = await send("ask me, over A2A");
    const comesTo = (state: string) =>
      world.until(`${state} of the task of an A2A client`, async () => {
        const isThere = (await ask<A2aTask>("GetTask", { id })).status.state === state;
        return isThere && told.includes(state) ? true : undefined;
      });
    await comesTo("TASK_STATE_INPUT_REQUIRED");
    await send("yes", { taskId: id });
    await comesTo("TASK_STATE_COMPLETED");
    const { tasks } = await ask<{ tasks: A2aTask[] }>("ListTasks", {});
    return { listed: tasks.filter((task) => task.id === id).length, told };
  } finally {
    await receiver.close();
  }
}

/** Signs as the zone's own agent may. */
function openClient({ resolver, moved, admit }: World) {
  const caller = createCaller({ ...client, kind: "code", roleArn: clientArn });
  admit(caller);
  const sign = createSigner({ service: "lambda", region: client.region, credentials: async () => caller.credentials });
  const [url] = resolver.resources("AWS::Lambda::Url").map((each) => moved(resolver.attribute(each, "FunctionUrl")));

  async function fetchSigned({ path, method, body }: { path: string; method: string; body?: string }) {
    const headers = { "a2a-version": "1.0", ...(body !== undefined && { "content-type": "application/json" }) };
    const target = new URL(path, url);
    const signed = await sign({ method, url: target, headers, body: body ?? "" });
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch(target, { method, headers: signed, signal, ...(body !== undefined && { body }) });
    if (!response.ok) throw new Error(`${method} ${path} of an A2A client was answered with ${response.status}.`);
    return response.json();
  }

  return {
    card: async () => (await fetchSigned({ path: "/.well-known/agent-card.json", method: "GET" })) as AgentCard,
    async ask<T>(method: string, params: object): Promise<T> {
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
      const answer = (await fetchSigned({ path: "/a2a", method: "POST", body })) as { result?: T };
      if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer)}`);
      return answer.result;
    },
  };
}
