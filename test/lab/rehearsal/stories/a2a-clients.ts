/** A2A clients of an Execution zone on Lambda. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import type { AgentCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { createSigner } from "@sekisho/runtime/aws/signer.ts";
import { startWebServer } from "../../../doubles/web-server.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import { createCaller } from "../aws/callers.ts";
import { a2aClient } from "../synthesized.ts";
import type { World } from "../world.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** The key that signs the agent card, as Secrets Manager holds it. */
export const cardKey = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** `execution.a2a` of the stage. */
export const a2aOfStage = {
  url: "https://agents.example/",
  callers: [a2aClient.roleArn],
  signature: { key: { env: "CARD_KEY" }, keyId: "of-the-rehearsal", algorithm: "EdDSA" },
  push: { allowLoopback: true },
};

type Sent = { task: A2aTask };

/** Runs a task with a question. Resolves to how often it is listed, and to the states that were pushed. */
export async function serveA2aClient(world: World): Promise<{ listed: number; updates: string[] }> {
  const { ask, card } = openClient(world);
  await verifyAgentCardSignature(async () => publicKey)((await card()) as never);
  const updates: string[] = [];
  const receiver = await startWebServer({
    async handle({ body }) {
      updates.push((JSON.parse(Buffer.from(body).toString()) as Sent).task.status.state);
      return new Response();
    },
  });
  try {
    const send = async (text: string, wanted: string, more: object = {}) => {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
      const configuration = { taskPushNotificationConfig: { url: receiver.url, id: "only" } };
      const { task } = await ask<Sent>("SendMessage", { message, configuration });
      // Without `returnImmediately` a host waits for the end of the turn. On Lambda it waits for the Verification zone only.
      if (task.status.state !== wanted)
        throw new Error(`"${text}" was answered with ${task.status.state}.`);
      return task;
    };
    const { id } = await send("ask me, over A2A", "TASK_STATE_SUBMITTED");
    const comesTo = (state: string) =>
      world.until(`${state} of the task of an A2A client`, async () => {
        const isThere = (await ask<A2aTask>("GetTask", { id })).status.state === state;
        return isThere && updates.includes(state) ? true : undefined;
      });
    await comesTo("TASK_STATE_INPUT_REQUIRED");
    await send("yes", "TASK_STATE_WORKING", { taskId: id });
    await comesTo("TASK_STATE_COMPLETED");
    const { tasks } = await ask<{ tasks: A2aTask[] }>("ListTasks", {});
    return { listed: tasks.filter((task) => task.id === id).length, updates };
  } finally {
    await receiver.close();
  }
}

function openClient({ resolver, dependencies: { moved, admit } }: World) {
  const { account, region, roleArn } = a2aClient;
  const caller = createCaller({ name: "A2aClient", kind: "code", account, region, roleArn });
  admit(caller);
  const sign = createSigner({
    service: "lambda",
    region,
    credentials: async () => caller.credentials,
  });
  const [url] = resolver
    .resources("AWS::Lambda::Url")
    .map((each) => moved(each.attribute("FunctionUrl")));

  async function fetchSigned({
    path,
    method,
    body,
  }: {
    path: string;
    method: string;
    body?: string;
  }) {
    const headers = {
      "a2a-version": "1.0",
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const target = new URL(path, url);
    const signed = await sign({ method, url: target, headers, body: body ?? "" });
    const signal = hangSignal();
    const response = await fetch(target, {
      method,
      headers: signed,
      signal,
      ...(body !== undefined && { body }),
    });
    if (!response.ok)
      throw new Error(`${method} ${path} of an A2A client was answered with ${response.status}.`);
    return response.json();
  }

  return {
    card: async () =>
      (await fetchSigned({ path: "/.well-known/agent-card.json", method: "GET" })) as AgentCard,
    async ask<T>(method: string, params: object): Promise<T> {
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
      const answer = (await fetchSigned({ path: "/a2a", method: "POST", body })) as { result?: T };
      if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer)}`);
      return answer.result;
    },
  };
}
