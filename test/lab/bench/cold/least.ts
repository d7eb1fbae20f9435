/** The least that a checkpoint must load: one HMAC, one JSON.parse, and one call of SQS signed by hand. Checks nothing else. */
import { createHash, createHmac } from "node:crypto";
import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

export async function handler({ body }: { body: string }): Promise<{ statusCode: number }> {
  createHmac("sha256", "secret").update(body).digest();
  JSON.parse(body);
  const MessageBody = body;
  const payload = JSON.stringify({ MessageBody });
  const scope = ["20250101", "eu-central-1", "sqs", "aws4_request"];
  const key = scope.reduce<Buffer>((last, part) => hmac(last, part), Buffer.from("AWS4secret"));
  const authorization = hmac(key, createHash("sha256").update(payload).digest("hex")).toString(
    "hex",
  );
  const headers = { authorization, "x-amz-target": "AmazonSQS.SendMessage" };
  const { promise, resolve } = Promise.withResolvers<void>();
  request(process.env.AWS_ENDPOINT_URL ?? "", { method: "POST", agent, headers })
    .on("response", (response) => response.resume().on("end", resolve))
    .end(payload);
  await promise;
  return { statusCode: 200 };
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
