/** What the configuration says of a destination, as the worker has it. */

import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { createA2aAgent } from "@sekisho/execution/a2a/a2a-agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  createDestinations,
  type DestinationDependencies,
} from "@sekisho/verification/destinations.ts";
import { noCredentials } from "../doubles/aws/no-credentials.ts";
import { createMemoryTaskStore } from "../world/records.ts";

type ExecutionConfig = Config["execution"];
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";

function destinationsOf(
  destinations: Record<string, Record<string, unknown>>,
  { limits = {}, ...otherOptions }: { limits?: object } & Partial<DestinationDependencies> = {},
) {
  const routes = [{ destination: Object.keys(destinations)[0] }];
  const config = parseConfig({ json: { limits, destinations, routes } });
  const secret = async () => "";
  const localUrl = "http://127.0.0.1:1/";
  const common = {
    readSecret: secret,
    botTokenOf: secret,
    credentials: noCredentials,
    log: silentLog,
  };
  return createDestinations({ config, localUrl, ...common, ...otherOptions });
}

it.each([
  [{}, [32, 5]],
  [{ sendsPerDestination: 8 }, [8, 5]],
  [{ concurrency: 4 }, [2, 5]],
])(
  "a destination limits its concurrent sends itself or takes the limit of %j",
  (limits, maxCalls) => {
    const destinations = destinationsOf(
      { plain: { transport: "https" }, own: { transport: "https", sendsAtOnce: 5 } },
      { limits },
    );
    expect([destinations.get("plain")?.maxSends, destinations.get("own")?.maxSends]).toEqual(
      maxCalls,
    );
  },
);

it("a destination receives votes unless it speaks A2A, which has no operation for them", () => {
  const destinations = destinationsOf({
    plain: { transport: "https" },
    other: { transport: "a2a" },
    runtime: { transport: "agentcore", runtimeArn },
    a2aRuntime: { transport: "agentcore", runtimeArn, protocol: "a2a" },
  });
  const votes = [...destinations].map(([name, { takesVotes }]) => [name, takesVotes]);
  expect(Object.fromEntries(votes)).toEqual({
    plain: true,
    other: false,
    runtime: true,
    a2aRuntime: false,
  });
});

it("a destination over A2A reaches the host in its own process, without a port", async () => {
  const host = createHost({
    agent: createEchoAgent(),
    store: createMemoryTaskStore({ parse: parseExecutionTask }),
    authenticator: createNoneAuthenticator(),
    a2a: (
      await publishedAgent({
        config: parseExecutionSections({}).execution,
        url: "http://10.0.0.1/",
      })
    ).settings,
  });
  const destination = destinationsOf(
    { own: { transport: "in-process", protocol: "a2a" } },
    { handle: host.handle },
  ).get("own");
  const id = randomUUID();
  const common = { requestId: id, sessionId: randomUUID(), timeoutMs: 5000, trace: createTrace() };
  const result = await destination?.client.call({
    method: "execute_task",
    params: task,
    id,
    ...common,
  });
  expect(result).toMatchObject({ task_id: expect.any(String) });
  await host.stop({ graceMs: 1000 });
});

async function publishedAgent({ config, url }: { config: ExecutionConfig; url: string }) {
  const agent = createA2aAgent({
    config,
    notifications: undefined,
    readSecret: () => Promise.reject(new Error("there is no secret")),
  });
  await agent.publish({ url });
  return agent;
}

const task = {
  channel: "C1",
  text: "hello",
  user_id: "U1",
  history: [{ role: "user" as const, text: "earlier" }],
  context: { channel_name: "ops" },
};

it("a destination receives all fields of a task except the omitted ones", async () => {
  const bodies: { method: string; params: Record<string, unknown> }[] = [];
  const destinations = destinationsOf(
    {
      all: { transport: "https" },
      fewer: { transport: "https", omitFields: ["channel", "history", "context"] },
    },
    {
      wrap: ({ transport }) => ({
        ...transport,
        async send({ body }) {
          const request = JSON.parse(Buffer.from(body).toString());
          bodies.push(request);
          return { body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: request.id, result })) };
        },
      }),
    },
  );
  const result = { status: "success", response_text: "done" };
  for (const name of ["all", "fewer"]) {
    const call = {
      id: randomUUID(),
      requestId: randomUUID(),
      sessionId: "s".repeat(33),
      timeoutMs: 1000,
      trace: createTrace(),
    };
    await destinations.get(name)?.client.call({ method: "execute_task", params: task, ...call });
    await destinations
      .get(name)
      ?.client.call({ method: "get_task", params: { task_id: "t" }, ...call });
  }
  const { channel, history, context, ...fewer } = task;
  expect(bodies.map(({ params }) => params)).toEqual([
    task,
    { task_id: "t" },
    fewer,
    { task_id: "t" },
  ]);
});
