/** The client of the official SDK against our host: refusals as the SDK's own errors, and authentication. */
import { randomUUID } from "node:crypto";
import { AgentCard } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type OurHost, startOurHost } from "./our-host.ts";
import { quickAgent } from "./quick-agent.ts";
import { eventsOf, saying, sdkClient, sendForTask } from "./sdk-client.ts";

const metadata = undefined;
const tenant = "";

describe.each(["1.0", "0.3"] as const)(
  "refused calls of the official SDK's client, %s",
  (version) => {
    let host: OurHost;
    let client: Client;
    beforeAll(async () => {
      host = await startOurHost({ agent: quickAgent });
      client = await sdkClient({ host, version });
    });
    afterAll(() => host.close());

    /** The SDK's client of 0.3 tells an error of a stream as a plain Error. */
    const onStream = (name: string) => (version === "0.3" ? "Error" : name);

    it("refuses a task that it does not know", async () => {
      const id = randomUUID();
      const names = await Promise.all([
        nameOf(client.getTask({ tenant, id, historyLength: undefined })),
        nameOf(client.cancelTask({ tenant, id, metadata })),
        nameOf(client.sendMessage(saying("answer", { taskId: id }))),
      ]);
      expect(names).toEqual(names.map(() => "TaskNotFoundError"));
      expect(await nameOf(eventsOf(client.resubscribeTask({ tenant, id })))).toBe(
        onStream("TaskNotFoundError"),
      );
    });

    it("refuses operations that a finished task does not support", async () => {
      const { id } = await sendForTask(client, saying("tck-complete-task"));
      expect(await nameOf(client.cancelTask({ tenant, id, metadata }))).toBe(
        "TaskNotCancelableError",
      );
      expect(await nameOf(client.sendMessage(saying("more", { taskId: id })))).toBe(
        "UnsupportedOperationError",
      );
      expect(await nameOf(eventsOf(client.resubscribeTask({ tenant, id })))).toBe(
        onStream("UnsupportedOperationError"),
      );
    });

    it("refuses the extended card when it has not configured one", async () => {
      const pending = client.transport.getExtendedAgentCard(
        { tenant },
        { serviceParameters: { "A2A-Version": version } },
      );
      const names = {
        "1.0": "UnsupportedOperationError",
        "0.3": "ExtendedAgentCardNotConfiguredError",
      };
      expect(await nameOf(pending)).toBe(names[version]);
    });
  },
);

describe.each(["1.0", "0.3"] as const)("a host with a token, %s", (version) => {
  const token = "a-token-that-both-sides-know";
  const extendedSkills = [
    { id: "ledgers", name: "Ledgers", description: "The books.", tags: ["ledger"] },
  ];
  let host: OurHost;
  beforeAll(async () => {
    host = await startOurHost({ agent: quickAgent, token, config: { extendedSkills } });
  });
  afterAll(() => host.close());

  it("accepts a client with the token and shows it the extended card", async () => {
    const client = await sdkClient({ host, version, token });
    expect((await sendForTask(client, saying("tck-complete-task"))).status.state).toBe(
      "TASK_STATE_COMPLETED",
    );
    const { skills, securitySchemes } = AgentCard.toJSON(await client.getAgentCard()) as AgentCard;
    expect(skills.map(({ id }) => id)).toContain("ledgers");
    expect(Object.keys(securitySchemes)).toEqual(["bearer"]);
  });

  it.each([undefined, "another-token"])("refuses a client with the token %s", async (values) => {
    const client = await sdkClient({ host, version, ...(values && { token: values }) });
    await expect(client.sendMessage(saying("tck-complete-task"))).rejects.toMatchObject({
      envelopeCode: -32066,
    });
    await expect(client.getAgentCard()).rejects.toMatchObject({ envelopeCode: -32066 });
  });
});

/** Returns the name of the SDK's error class. */
async function nameOf(answer: Promise<unknown>): Promise<string> {
  const error = await answer.then(
    () => undefined,
    (error: unknown) => error,
  );
  return error instanceof Error ? error.name : "no error";
}
