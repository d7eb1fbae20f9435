/** Secrets Manager and SQS as a cold start meets them: one answers with the secret, the other counts what is enqueued. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type AwsStub = { url: string; enqueued(): number; close(): void };

export async function startAwsStub({ secret }: { secret: string }): Promise<AwsStub> {
  let enqueued = 0;
  const answerTo = (target: unknown, body: string) => {
    if (target !== "AmazonSQS.SendMessage") return { SecretString: secret };
    enqueued += 1;
    // The SDK's client compares it with what it sent.
    return { MessageId: "m-1", MD5OfMessageBody: md5(JSON.parse(body).MessageBody) };
  };
  const server = createServer(async (request, response) => {
    const answer = answerTo(request.headers["x-amz-target"], await text(request));
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(answer));
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

function md5(body: string): string {
  return createHash("md5").update(body).digest("hex");
}
