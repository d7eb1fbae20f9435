/** The client of the official SDK for our host, in either version, with the code that its users write around it. */
import { randomUUID } from "node:crypto";
import {
  type AgentCard,
  Message,
  type SendMessageRequest,
  StreamResponse,
  Task,
  type TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { Message as WireMessage } from "@sekisho/contracts/a2a/part.ts";
import type { A2aTask, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import type { OurHost } from "./our-host.ts";

/** The client of 1.0 reads the card. The client of 0.3 gets the card without `supportedInterfaces`, which 0.3 does not have. */
export async function sdkClient({
  host,
  version,
  token,
}: {
  host: OurHost;
  version: A2aVersion;
  token?: string;
}): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const legacyCompat = { enabled: version === "0.3" };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat }),
    }),
  );
  if (version === "1.0") return factory.createFromUrl(host.url);
  const response = await fetch(host.cardUrl);
  const { supportedInterfaces: _newer, ...card } = (await response.json()) as {
    supportedInterfaces: unknown;
  };
  return factory.createFromAgentCard(card as unknown as AgentCard);
}

/** Makes a request with one text. Its message id begins with the name of the scenario. */
export function saying(
  scenario: string,
  {
    text = "hello",
    configuration,
    ...rest
  }: Partial<WireMessage> & { text?: string; configuration?: object } = {},
): SendMessageRequest {
  const wire = {
    messageId: `${scenario}-${randomUUID()}`,
    role: "ROLE_USER",
    parts: [{ text }],
    ...rest,
  };
  const common = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: false,
  };
  const filled = { ...common, historyLength: undefined, ...configuration };
  return {
    tenant: "",
    message: Message.fromJSON(wire),
    configuration: filled,
    metadata: undefined,
  };
}

export function pushConfig(
  config: Partial<TaskPushNotificationConfig>,
): TaskPushNotificationConfig {
  const authentication = { scheme: "Bearer", credentials: "secret" };
  return { tenant: "", id: "", taskId: "", url: "", token: "", authentication, ...config };
}

/** Returns the task or the message as JSON. */
function toSent(
  result: Message | Task,
): { task: A2aTask; message?: undefined } | { message: WireMessage; task?: undefined } {
  if ("messageId" in result) return { message: Message.toJSON(result) as WireMessage };
  return { task: asTask(result) };
}

export async function sendForTask(client: Client, request: SendMessageRequest): Promise<A2aTask> {
  const { task } = toSent(await client.sendMessage(request));
  if (task === undefined) throw new Error("the answer is no task");
  return task;
}

function asTask(task: Task): A2aTask {
  return Task.toJSON(task) as A2aTask;
}

export async function eventsOf(stream: AsyncIterable<StreamResponse>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(StreamResponse.toJSON(event) as StreamEvent);
  return events;
}
