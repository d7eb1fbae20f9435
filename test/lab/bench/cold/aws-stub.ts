/** AWS, Slack and an Execution zone as far as a cold start calls them: one server over plain HTTP, without a memory. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type AwsStub = {
  url: string;
  /** How many messages were sent to queues. */
  enqueued(): number;
  close(): void;
};

export async function startAwsStub({ secret }: { secret: string }): Promise<AwsStub> {
  let enqueued = 0;
  const answers: Record<string, (body: string) => object> = {
    "AmazonSQS.SendMessage": (body) => {
      enqueued += 1;
      // The SDK's client compares it with what it sent.
      return { MessageId: "m-1", MD5OfMessageBody: md5(JSON.parse(body).MessageBody) };
    },
    "AmazonSSM.GetParameter": () => ({ Parameter: { Value: "{}" } }),
    "secretsmanager.GetSecretValue": () => ({ SecretString: secret }),
  };
  const server = createServer(async (request, response) => {
    const { "x-amz-target": target } = request.headers;
    const body = await text(request);
    const answer =
      target === undefined
        ? answerOther(request.url ?? "", body)
        : (answers[String(target)]?.(body) ?? {});
    const type = target === undefined ? "application/json" : "application/x-amz-json-1.0";
    response.writeHead(200, { "content-type": type }).end(JSON.stringify(answer));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    enqueued: () => enqueued,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answerOther(path: string, body: string): object {
  if (path.startsWith("/slack/"))
    return {
      ok: true,
      channel: "C012AB3CD",
      ts: "1762750300.000100",
      messages: [],
      user_id: "U0BOT00001",
      bot_id: "B1",
    };
  const { id = null } = body === "" ? {} : JSON.parse(body);
  return { jsonrpc: "2.0", id, result: { status: "success", response_text: "A checkpoint." } };
}

function md5(body: string): string {
  return createHash("md5").update(body).digest("hex");
}
