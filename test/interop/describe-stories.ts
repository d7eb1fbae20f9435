/** Runs the stories against a peer, through our transport. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createClient, type ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { common } from "../tables/transport-sample.ts";
import { hangMs, hangSignal } from "../tooling/hang.ts";
import { stories, type Teller } from "./stories.ts";

type Peer = { cardUrl: string; close: () => Promise<void> };

export const lackedBy03 = {
  "a task is found by the request that began it": "0.3 has no listing of tasks over JSON-RPC.",
};

/** `version` pins one. `lacks` has the stories that the peer cannot run, with the reason. */
export function describeStories({
  name,
  start,
  version,
  speaks = version,
  lacks = {},
}: {
  name: string;
  start: () => Promise<Peer>;
  version?: A2aVersion;
  speaks?: A2aVersion | undefined;
  lacks?: Record<string, string>;
}): void {
  describe(`our transport to ${name}`, () => {
    let peer: Peer | undefined;
    let client: ExecutionClient | undefined;
    let transport: ReturnType<typeof createA2aTransport> | undefined;
    beforeAll(async () => {
      peer = await start();
      transport = createA2aTransport({
        carrier: createHttpsCarrier({ cardUrl: peer.cardUrl, authorizer: noAuthorizer }),
        version,
      });
      const destination = {
        name: "peer",
        dialect: "a2a",
        idempotent: false,
        callTimeoutMs: hangMs,
      } as const;
      client = createClient({ transport, destination, log: silentLog });
    });
    afterAll(async () => {
      await client?.close();
      await peer?.close();
    });

    it("knows the name and the version of the agent by its card", async () => {
      const described = await transport?.describe?.({
        sessionId: randomUUID(),
        signal: hangSignal(),
      });
      expect(described).toMatchObject({ name: expect.any(String), version: speaks });
    });

    for (const { name: story, tell } of stories) {
      if (lacks[story] === undefined) it(story, () => tell(tellerOf(client as ExecutionClient)));
    }
  });
}

function tellerOf(client: ExecutionClient): Teller {
  const call: Teller["call"] = (method, params) =>
    client.call({ ...common, method, params, id: randomUUID() });
  return {
    call,
    execute: (text, id = randomUUID()) =>
      client.call({ ...common, method: "execute_task", params: { channel: "C1", text }, id }),
    async outcome(begun) {
      let result = begun;
      while (result.status === "accepted") {
        await new Promise((resolve) => setTimeout(resolve, 10));
        result = await call("get_task", { task_id: result.task_id });
      }
      return result;
    },
  };
}
