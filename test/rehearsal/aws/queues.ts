/** The queues of the templates in the emulator, with their attributes. */
import type { Resolver } from "../template/resolve.ts";
import { emulatorHeaders } from "./emulator-headers.ts";
import type { Backend } from "./gateway.ts";

export type Queues = {
  backend: Backend;
  /** As CloudWatch sees it, as a person does at the console: nobody's permissions are needed. */
  attributesOf(arn: string): Promise<Record<string, string>>;
  /** The messages that can be received, without keeping them from anyone. */
  peek(arn: string): Promise<string[]>;
  send(request: { arn: string; body: string }): Promise<void>;
};

type Sent = { MessageId?: string; Successful?: { MessageId?: string }[] };
type Received = { MessageId: string; Attributes?: Record<string, string> };

const copied = ["VisibilityTimeout", "DelaySeconds", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds"];
/** No rehearsal waits as long as production does: for a failed message, and for a delayed one. */
const longestFailureSeconds = 1;
const longestDelaySeconds = 2;

/** `visibilitySeconds` stands for what the templates have, where it is given. */
export async function createQueues({
  endpoint,
  resolver,
  visibilitySeconds,
}: {
  endpoint: string;
  resolver: Resolver;
  visibilitySeconds?: number | undefined;
}): Promise<Queues> {
  const call = caller(endpoint);
  const queues = resolver.resources("AWS::SQS::Queue");
  const urls = new Map<string, string>();
  const emulatorArns = new Map<string, string>();
  for (const queue of queues) {
    const arn = resolver.attribute(queue, "Arn");
    const attributes = copied
      .filter((name) => queue.properties[name] !== undefined)
      .map((name) => [name, String(queue.properties[name])] as const);
    const created = await call("CreateQueue", {
      QueueName: resolver.attribute(queue, "QueueName"),
      Attributes: {
        ...Object.fromEntries(attributes),
        ...(visibilitySeconds === undefined ? {} : { VisibilityTimeout: String(visibilitySeconds) }),
      },
    });
    const url = String(created.QueueUrl);
    urls.set(arn, url);
    const { Attributes } = await call("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["QueueArn"] });
    emulatorArns.set(arn, String((Attributes as Record<string, string>).QueueArn));
  }
  const urlOf = (arn: string) => {
    const url = urls.get(arn);
    if (url === undefined) throw new Error(`No template has the queue ${arn}.`);
    return url;
  };
  for (const queue of queues) {
    const { RedrivePolicy } = queue.properties;
    if (RedrivePolicy === undefined) continue;
    const { deadLetterTargetArn, maxReceiveCount } = RedrivePolicy as Record<string, unknown>;
    const target = emulatorArns.get(String(deadLetterTargetArn));
    if (target === undefined) throw new Error(`${queue.label}: its dead-letter queue is in no template.`);
    const policy = JSON.stringify({ deadLetterTargetArn: target, maxReceiveCount });
    const url = urlOf(resolver.attribute(queue, "Arn"));
    await call("SetQueueAttributes", { QueueUrl: url, Attributes: { RedrivePolicy: policy } });
  }

  const traces = carryTraces();
  return {
    async backend({ call: { action, input, resources }, received }) {
      const [arn = ""] = resources;
      const url = urls.get(arn);
      if (url === undefined) return Response.json({ __type: "QueueDoesNotExist" }, { status: 400 });
      const sent: Record<string, unknown> = { ...input, QueueUrl: url };
      if (action === "sqs:ChangeMessageVisibility")
        sent.VisibilityTimeout = Math.min(Number(input.VisibilityTimeout), longestFailureSeconds);
      if (input.DelaySeconds !== undefined)
        sent.DelaySeconds = Math.min(Number(input.DelaySeconds), longestDelaySeconds);
      const { headers, signal } = received.request;
      const response = await post({ endpoint, operation: action.slice(4), input: sent, signal });
      if (!response.ok) return response;
      if (action.startsWith("sqs:SendMessage")) return traces.keep(response, headers.get("x-amzn-trace-id"));
      return action === "sqs:ReceiveMessage" ? traces.bring(response) : response;
    },
    async attributesOf(arn) {
      const { Attributes } = await call("GetQueueAttributes", { QueueUrl: urlOf(arn), AttributeNames: ["All"] });
      return Attributes as Record<string, string>;
    },
    async peek(arn) {
      const answer = await call("ReceiveMessage", {
        QueueUrl: urlOf(arn),
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 0,
      });
      return ((answer.Messages ?? []) as { Body: string }[]).map(({ Body }) => Body);
    },
    async send({ arn, body }) {
      await call("SendMessage", { QueueUrl: urlOf(arn), MessageBody: body });
    },
  };
}

/**
 * SQS keeps the trace header of who sends as the attribute AWSTraceHeader of the message, wherever it is moved to. The
 * emulator does not.
 */
function carryTraces() {
  const traces = new Map<string, string>();
  return {
    async keep(response: Response, trace: string | null): Promise<Response> {
      const { MessageId, Successful = [] } = (await response.clone().json()) as Sent;
      for (const { MessageId: id = "" } of [{ MessageId }, ...Successful]) if (trace !== null) traces.set(id, trace);
      return response;
    },
    async bring(response: Response): Promise<Response> {
      const { Messages = [], ...rest } = (await response.json()) as { Messages?: Received[] };
      const traced = Messages.map((message) => {
        const AWSTraceHeader = traces.get(message.MessageId);
        return AWSTraceHeader === undefined
          ? message
          : { ...message, Attributes: { ...message.Attributes, AWSTraceHeader } };
      });
      return Response.json({ ...rest, Messages: traced });
    },
  };
}

function caller(endpoint: string) {
  return async (operation: string, input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const response = await post({ endpoint, operation, input, signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    if (!response.ok) throw new Error(`The emulator answered ${operation} with ${response.status}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
}

function post(request: {
  endpoint: string;
  operation: string;
  input: unknown;
  signal: AbortSignal;
}): Promise<Response> {
  const { endpoint, operation, input, signal } = request;
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `AmazonSQS.${operation}`,
    ...emulatorHeaders("sqs"),
  };
  return fetch(endpoint, { method: "POST", headers, body: JSON.stringify(input), signal });
}
