/** The worker's and the dead letters' functions on Lambda, between an emulated table, emulated queues, Slack's fake Slack and a peer. */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from "@jest/globals";
import { createFingerprints } from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { openDynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { createDeadLetterHandler } from "@sekisho/verification/handlers/dead-letter-handler.ts";
import {
  createVerificationWorkerHandler,
  type VerificationWorkerHandler,
} from "@sekisho/verification/handlers/worker-handler.ts";
import { jwtVerify } from "jose";
import { emulatedAws, emulatorAccess, whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { createKms } from "../../doubles/aws/kms.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { pushSettings } from "../../doubles/aws/pushed-settings.ts";
import { createSqsRecord } from "../../doubles/aws/sqs-event.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleAsk } from "../task/sample.ts";

const savedEnv = { ...process.env };
const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
const botToken = "xoxb-fake-slack-token";
const ownArn = "arn:aws:sqs:eu-central-1:111111111111:tasks";
const workerArn = "arn:aws:lambda:eu-central-1:111111111111:function:worker";
/** The event sources invoke the function itself, an operator the alias. */
const ofQueue = { getRemainingTimeInMillis: () => 75_000, invokedFunctionArn: workerArn };
const ofOperator = { ...ofQueue, invokedFunctionArn: `${workerArn}:operator` };
const completionsArn = "arn:aws:sqs:eu-central-1:111111111111:sekisho-dev-completions";

/** A record of the worker's own queue. */
const recordOf = (body: string) => createSqsRecord(body, { arn: ownArn });

suite(`the functions on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let openWorld: OpenEmulators;
  let emulators: OpenEmulators["emulators"];
  let clients: OpenEmulators["clients"];
  let slack: FakeSlack;
  let servers: WebServer[];
  /** What Secrets Manager holds (`formerly`: bot tokens that are given first, once each), and which methods each peer was called by. */
  let values: { secrets: Record<string, string>; formerly: string[] };
  let calls: { peer: string; method: string; token: string | null }[];
  /** The emulated KMS, and the keys that were asked to sign. */
  let kms: ReturnType<typeof createKms>;
  let signed: string[];
  let queueUrl: string;
  let archiveUrl: string;
  let config: {
    allowlist: unknown;
    destinations: Record<string, unknown>;
    routes: unknown;
    slack: unknown;
  };

  beforeAll(async () => {
    openWorld = await openEmulators();
    ({ emulators, clients } = openWorld);
  });
  afterAll(() => openWorld.close());

  beforeEach(async () => {
    // The functions log what these tests make them refuse.
    jest.spyOn(process.stderr, "write").mockReturnValue(true);
    values = { secrets: { bot: botToken, peer: "token-1" }, formerly: [] };
    calls = [];
    kms = createKms({ account: "111111111111" });
    signed = [];
    slack = await startFakeSlack({ signingSecret: "s", botToken });
    const services = await startWebServer({
      handle: async ({ request, body }) => answerOfAws(request, body),
    });
    const [first, second] = await Promise.all(["first", "second"].map(startPeer));
    if (first === undefined || second === undefined) throw new Error("no peers");
    servers = [services, first, second];
    ({ queueUrl, deadLettersUrl: archiveUrl } = await createQueuePair({
      client: clients.queues,
      maxReceiveCount: 9,
    }));
    const authorizer = { type: "bearer", token: { secretsManager: "peer" } };
    config = {
      allowlist: [{ team: workspace.team }],
      slack: { botToken: { secretsManager: "bot" }, signingSecret: { secretsManager: "signing" } },
      destinations: {
        first: { transport: "https", url: `${first.url}/`, authorizer },
        second: { transport: "https", url: `${second.url}/`, authorizer },
      },
      routes: [{ destination: "first" }],
    };
    process.env = {
      ...savedEnv,
      AWS_REGION: emulatorAccess.region,
      AWS_ACCESS_KEY_ID: "emulator",
      AWS_SECRET_ACCESS_KEY: "emulator",
      AWS_ENDPOINT_URL: services.url,
      AWS_ENDPOINT_URL_DYNAMODB: emulators.dynamo.endpoint,
      AWS_ENDPOINT_URL_SQS: emulators.queues.endpoint,
      SEKISHO_TABLE: await createTaskTable({ client: clients.dynamo }),
      SEKISHO_QUEUE_URL: queueUrl,
      SEKISHO_QUEUE_ARN: ownArn,
      SEKISHO_DEAD_LETTERS_URL: archiveUrl,
      SEKISHO_ROUTES_PARAMETER: "routes",
      SEKISHO_FILES_BUCKET: "files",
      SEKISHO_SLACK_API_URL: slack.apiUrl,
      SEKISHO_LOG_LEVEL: "error",
    };
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    process.env = { ...savedEnv };
    await Promise.all([slack.close(), ...servers.map((server) => server.close())]);
  });

  function answerOfAws(request: Request, body: Uint8Array): Response {
    const input = JSON.parse(Buffer.from(body).toString());
    if (request.headers.get("x-amz-target") === "TrentService.Sign") {
      signed.push(input.KeyId);
      return kms.handle("Sign", input);
    }
    if (request.headers.get("x-amz-target") === "AmazonSSM.GetParameter") {
      return Response.json({ Parameter: { Name: input.Name, Value: "{}", Version: 1 } });
    }
    const former = input.SecretId === "bot" ? values.formerly.shift() : undefined;
    return Response.json({ SecretString: former ?? values.secrets[input.SecretId] });
  }

  function openWorker(): VerificationWorkerHandler {
    return createVerificationWorkerHandler({ config: parseConfig({ json: config }) });
  }

  /** The live settings, as `config push` stores them. */
  function push(settings: string): Promise<void> {
    const client = openDynamoDb(emulatedAws(emulators.dynamo.endpoint));
    return pushSettings({ client, table: process.env.SEKISHO_TABLE ?? "", settings });
  }

  /** Takes only the token that Secrets Manager holds. */
  function startPeer(peer: string): Promise<WebServer> {
    return startWebServer({
      handle: async ({ request, body }) => {
        const { id, method } = JSON.parse(Buffer.from(body).toString());
        const token = request.headers.get("authorization");
        calls.push({ peer, method, token });
        if (token !== `Bearer ${values.secrets.peer}`) return new Response(null, { status: 401 });
        const result = { status: "success", response_text: `An answer of the ${peer}.` };
        return Response.json({ jsonrpc: "2.0", id, result });
      },
    });
  }

  /** A message as the ingress enqueues it. */
  async function ask(text = "What is a sekisho?") {
    const { body, ...askedMessage } = askBody(text);
    await clients.queues.send(
      new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: body,
        MessageGroupId: workspace.team,
      }),
    );
    return askedMessage;
  }

  function askBody(text: string) {
    const { message, requestId } = slack.ask({ eventsUrl: "http://127.0.0.1:9/", text });
    const { app: appId, team, person } = workspace;
    const body = JSON.stringify({
      ...sampleAsk({ appId, team, channel: message.channel, user: person, ts: message.ts, text }),
      requestId,
      receivedAtMs: Date.now(),
    });
    return { requestId, message, body };
  }

  /** As the event source does it, once. Resolves to how many messages there were. */
  async function work(handle: VerificationWorkerHandler): Promise<number> {
    const { Messages = [] } = await clients.queues.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      }),
    );
    const Records = Messages.map(({ MessageId, ReceiptHandle, Body, Attributes }) => ({
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      eventSourceARN: ownArn,
      body: Body,
      attributes: Attributes,
      messageAttributes: {},
    }));
    const { batchItemFailures } = await handle({ Records }, ofQueue);
    const failedIds = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const { MessageId = "", ReceiptHandle } of Messages) {
      if (!failedIds.has(MessageId)) {
        await clients.queues.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
      }
    }
    return Messages.length;
  }

  async function answers(
    handle: VerificationWorkerHandler,
    { ts }: { ts: string },
  ): Promise<string[]> {
    const replies = () => slack.thread({ channel: workspace.channel.id, ts }).slice(1);
    const isAnswered = () =>
      replies().some(({ text }) => /answer|went wrong|could not/i.test(text));
    for (let round = 0; round < 20 && !isAnswered(); round++) await work(handle);
    return replies().map(({ text }) => text);
  }

  it("answers a message with secrets from Secrets Manager", async () => {
    const handle = openWorker();
    const { message } = await ask();
    expect(await answers(handle, message)).toEqual(["An answer of the first."]);
    expect(calls).toEqual([{ peer: "first", method: "execute_task", token: "Bearer token-1" }]);
  });

  it("uses rotated tokens of Slack and of a destination at once", async () => {
    const handle = openWorker();
    values.formerly.push("xoxb-of-yesterday");
    const first = await ask();
    expect(await answers(handle, first.message)).toEqual(["An answer of the first."]);
    values.secrets.peer = "token-2";
    const second = await ask();
    expect(await answers(handle, second.message)).toEqual(["An answer of the first."]);
    expect(calls.map(({ token }) => token)).toEqual([
      "Bearer token-1",
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });

  it("routes by the live settings and ignores settings that do not fit", async () => {
    await push(JSON.stringify({ routes: [{ destination: "second" }] }));
    const handle = openWorker();
    expect(await answers(handle, (await ask()).message)).toEqual(["An answer of the second."]);
    await push(JSON.stringify({ routes: [{ destination: "third" }] }));
    const refusing = openWorker();
    expect(await answers(refusing, (await ask()).message)).toEqual(["An answer of the first."]);
  });

  it("reports failed messages and retries those of its own queue soon", async () => {
    const handle = openWorker();
    const { requestId } = await ask();
    const { Messages = [] } = await clients.queues.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, VisibilityTimeout: 1000 }),
    );
    const changes: number[] = [];
    const proxy = await startWebServer({
      handle: async ({ request, body }) => {
        const input = JSON.parse(Buffer.from(body).toString());
        if (request.headers.get("x-amz-target")?.endsWith("ChangeMessageVisibility"))
          changes.push(input.VisibilityTimeout);
        return Response.json({});
      },
    });
    process.env = {
      ...process.env,
      SEKISHO_TABLE: "no-such-table",
      AWS_ENDPOINT_URL_SQS: proxy.url,
    };
    const failing = openWorker();
    const [message] = Messages;
    const attributes = { ApproximateReceiveCount: "2" };
    const record = {
      ...recordOf(message?.Body ?? ""),
      receiptHandle: message?.ReceiptHandle,
      attributes,
    };
    const push = recordOf(JSON.stringify({ request_id: requestId, task_id: "t-1" }));
    const completion = { ...push, eventSourceARN: completionsArn };
    const { batchItemFailures } = await failing({ Records: [record, completion] }, ofQueue);
    await proxy.close();
    const failures = [record, completion].map(({ messageId }) => ({ itemIdentifier: messageId }));
    expect(batchItemFailures).toEqual(failures);
    expect(changes).toEqual([10]);
    await clients.queues.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: queueUrl,
        ReceiptHandle: message?.ReceiptHandle,
        VisibilityTimeout: 0,
      }),
    );
    expect(await work(handle)).toBe(1);
  });

  it("tells an operator what the role and the secrets of the worker reach, and runs no task", async () => {
    const handle = openWorker();
    const context = ofOperator;
    const { second: fingerprint } = createFingerprints(parseConfig({ json: config }));
    const pushedSettings = { destinations: { second: { fingerprint, url: servers[1]?.url } } };
    await push(JSON.stringify(pushedSettings));
    expect(await handle({ operator: "check_worker" }, context)).toEqual({
      liveSettings: "read",
      store: { ok: true },
      queue: { ok: true },
      bot: expect.objectContaining({ state: "accepted", teamId: workspace.team }),
    });
    const all: unknown = await handle({ operator: "check_destinations" }, context);
    expect(all).toMatchObject({
      checked: [
        { name: "first", health: "healthy" },
        { name: "second", health: "healthy", address: servers[1]?.url },
      ],
    });
    values.secrets.peer = "token-2";
    const some: unknown = await handle(
      { operator: "check_destinations", names: ["second", "third"] },
      context,
    );
    expect(some).toEqual({ checked: [expect.objectContaining({ name: "second" })] });
    expect([...new Set(calls.map(({ method }) => method))]).toEqual(["rpc.discover"]);
    for (const secret of [botToken, "token-1", "token-2"])
      expect(JSON.stringify([all, some])).not.toContain(secret);
  });

  it("reports live settings that do not fit", async () => {
    await push(JSON.stringify({ routes: [{ destination: "third" }] }));
    const answer = await openWorker()({ operator: "check_worker" }, ofOperator);
    expect(answer).toMatchObject({ liveSettings: "refused", store: { ok: true } });
  });

  it("reports what the worker cannot reach", async () => {
    process.env = { ...process.env, SEKISHO_TABLE: "no-such-table" };
    values.secrets.bot = "xoxb-of-somebody-else";
    const answer = await openWorker()({ operator: "check_worker" }, ofOperator);
    expect(answer).toEqual({
      liveSettings: "unreadable",
      store: { ok: false, error: "ResourceNotFoundException" },
      queue: { ok: true },
      bot: { state: "refused", error: "invalid_auth" },
    });
  });

  it.each([
    {},
    null,
    "check_worker",
    { operator: "delete_everything" },
    { operator: "check_worker", names: [] },
    { operator: "check_destinations", names: ["first"], Extra: 1 },
    { operator: "check_destinations", names: "first" },
  ])("refuses an event that is neither a batch nor an operator request: %j", async (event) => {
    const handle = openWorker();
    await expect(handle(event, ofQueue)).rejects.toThrow(/not an SQS batch/);
    await expect(handle(event, ofOperator)).rejects.toThrow(/not an operator request/);
  });

  it("refuses a batch from an operator, who could forge messages with it", async () => {
    const handle = openWorker();
    const { body, message } = askBody("let me in");
    for (const event of [
      { Records: [recordOf(body)] },
      { Records: [], operator: "check_worker" },
    ]) {
      await expect(handle(event as unknown, ofOperator)).rejects.toThrow(/not an operator request/);
    }
    expect(slack.thread({ channel: workspace.channel.id, ts: message.ts })).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  it("accepts only batches when the function itself is invoked", async () => {
    const handle = openWorker();
    const request: unknown = { operator: "check_worker" };
    for (const invokedFunctionArn of [workerArn, `${workerArn}:$LATEST`, `${workerArn}:7`])
      await expect(handle(request, { ...ofQueue, invokedFunctionArn })).rejects.toThrow(
        /not an SQS batch/,
      );
    const event: unknown = { Records: [], operator: "check_worker" };
    expect(await handle(event, ofQueue)).toEqual({ batchItemFailures: [] });
    const message = JSON.stringify({ operator: "check_destinations" });
    const { batchItemFailures } = await handle({ Records: [recordOf(message)] }, ofQueue);
    expect(batchItemFailures).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  it("posts a notice in the thread for a dead letter and archives it, even a malformed one", async () => {
    const handle = openWorker();
    const handleDeadLetters = createDeadLetterHandler({ config: parseConfig({ json: config }) });
    slack.inject({ method: "chat.postMessage", type: "status", status: 503 });
    const { message, requestId } = await ask();
    await work(handle);
    const bodies = [JSON.stringify({ type: "wake", requestId, seq: 1 }), "nonsense"];
    const attributes = { ApproximateReceiveCount: "1", MessageGroupId: workspace.team };
    const Records = bodies.map((body) => ({ ...recordOf(body), attributes }));
    const batchAnswer = await handle({ Records: Records.slice(1) }, ofQueue);
    expect(batchAnswer.batchItemFailures).toHaveLength(1);
    const response = await handleDeadLetters({ Records }, ofQueue);
    expect(response).toEqual({ batchItemFailures: [] });
    const { Messages: archived = [] } = await clients.queues.send(
      new ReceiveMessageCommand({ QueueUrl: archiveUrl, MaxNumberOfMessages: 10 }),
    );
    expect(archived.map(({ Body }) => Body).sort()).toEqual([...bodies].sort());
    const texts = await answers(handle, message);
    expect(texts).toHaveLength(1);
    expect(texts[0]).not.toContain("An answer");
    expect(calls).toEqual([]);
  });

  it.each([
    ["the completion queue", { eventSourceARN: completionsArn }],
    ["another queue", { eventSourceARN: `${ownArn}-2` }],
    ["an unknown source", {}],
  ])("refuses questions, wake-ups and redrives from %s, delayed or not", async (_from, origin) => {
    const handle = openWorker();
    const knownTask = await ask("a task that waits for its announcement");
    const { body, requestId, message } = askBody("let me in");
    const forgedBodies = [
      body,
      JSON.stringify({ type: "wake", requestId: knownTask.requestId, seq: 0 }),
      JSON.stringify({ type: "redrive", requestId: knownTask.requestId }),
      JSON.stringify({ request_id: requestId, task_id: "t-1" }),
      "nonsense",
    ];
    const inAMinute = {
      DueAtMs: { stringValue: String(Date.now() + 60_000), dataType: "Number" },
    };
    const Records = forgedBodies.flatMap((text) =>
      [{}, inAMinute].map((messageAttributes) => {
        const { eventSourceARN: _own, ...record } = recordOf(text);
        return { ...record, ...origin, messageAttributes };
      }),
    );
    const response = await handle({ Records }, ofQueue);
    expect(response).toEqual({ batchItemFailures: [] });
    const { Attributes } = await clients.queues.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["All"] }),
    );
    // Only what was asked above; nothing was sent on.
    expect(Attributes).toMatchObject({
      ApproximateNumberOfMessages: "1",
      ApproximateNumberOfMessagesDelayed: "0",
    });
    expect(slack.thread({ channel: workspace.channel.id, ts: message.ts })).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  it("stops an act before the time of the function runs out", async () => {
    const never = await startWebServer({ handle: () => new Promise(() => {}) });
    config.destinations.first = { transport: "https", url: `${never.url}/` };
    const handle = openWorker();
    const { requestId } = await ask();
    await work(handle);
    const Records = [recordOf(JSON.stringify({ type: "wake", requestId, seq: 1 }))];
    const response = await handle(
      { Records },
      { ...ofQueue, getRemainingTimeInMillis: () => 5100 },
    );
    await never.close();
    expect(response).toEqual({ batchItemFailures: [] });
  });

  describe("a worker whose destination is told who asked", () => {
    const issuer = "https://asker.example";
    const clientId = "arn:aws:iam::111111111111:role/sekisho-dev-verification";
    const keys = [{ id: "first", from: "2026-01-01T00:00:00Z" }];
    let told: { method: string; token: string; body: Buffer }[];
    let polls: number;

    /** Accepts a task, and finishes it at the third poll. */
    async function startTold(): Promise<WebServer> {
      const peer = await startWebServer({
        handle: async ({ request, body }) => {
          const { id, method } = JSON.parse(Buffer.from(body).toString());
          const token = request.headers.get("sekisho-asker") ?? "";
          told.push({ method, token, body: Buffer.from(body) });
          polls += Number(method === "get_task");
          const result =
            polls === 3
              ? { status: "success", response_text: "An answer." }
              : { status: "accepted", task_id: "t-1", poll_after_ms: 1 };
          return Response.json({ jsonrpc: "2.0", id, result });
        },
      });
      servers.push(peer);
      return peer;
    }

    beforeEach(async () => {
      told = [];
      polls = 0;
      const key = kms.addKey("alias/sekisho-dev-asker-first");
      const { url } = await startTold();
      const asker = { audience: "https://agent.example" };
      config.destinations.first = {
        transport: "https",
        url,
        authorizer: { type: "bearer", token: { secretsManager: "peer" } },
        asker,
      };
      Object.assign(config, { asker: { issuer, keys } });
      process.env.SEKISHO_ASKER = JSON.stringify({ clientId, keys: { first: key.arn } });
    });

    it("signs once for the message, and once for all polls", async () => {
      const { message, requestId } = await ask();
      const handle = openWorker();
      // A poll may be delayed by the queue.
      for (let round = 0; round < 200 && polls < 3; round++) {
        await work(handle);
        await pause(50);
      }
      expect(await answers(handle, message)).toEqual(["An answer."]);
      const methods = told.map(({ method }) => method);
      expect(methods).toEqual(["execute_task", "get_task", "get_task", "get_task"]);
      expect(signed).toHaveLength(2);
      const [execute, ...others] = told;
      expect(new Set(others.map(({ token }) => token)).size).toBe(1);
      const key = kms.keys.get("alias/sekisho-dev-asker-first")?.publicKey;
      if (key === undefined || execute === undefined) throw new Error("nothing was sent");
      const { payload } = await jwtVerify(execute.token, key, {
        issuer,
        audience: "https://agent.example",
      });
      expect(payload).toMatchObject({
        ...{ client_id: clientId, act: { sub: clientId }, request_id: requestId },
        sub: `slack:${workspace.team}:${workspace.person}`,
        body_sha256: createHash("sha256").update(execute.body).digest("hex"),
      });
    });

    it("calls KMS for no destination that is not told", async () => {
      Object.assign(config, { routes: [{ destination: "second" }] });
      const { message } = await ask();
      expect(await answers(openWorker(), message)).toEqual(["An answer of the second."]);
      expect(signed).toEqual([]);
    });

    it("sends nothing while KMS refuses, and tells the person", async () => {
      for (const key of kms.keys.values()) key.state = "Disabled";
      const { message } = await ask();
      const texts = await answers(openWorker(), message);
      expect(texts.join()).toMatch(/^I couldn't sign in to the agent\. Tell your admin/);
      expect(told).toEqual([]);
    });

    it("sends nothing while the environment has no keys, and the task waits", async () => {
      delete process.env.SEKISHO_ASKER;
      const { message } = await ask();
      await work(openWorker());
      expect([told, signed]).toEqual([[], []]);
      const texts = slack.thread({ channel: workspace.channel.id, ts: message.ts });
      expect(texts.slice(1).map(({ text }) => text)).toEqual(["Working on it…"]);
    });
  });
});
