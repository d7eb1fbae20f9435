/** A bare Secrets Manager and SQS in a process of its own, for the bench of the ingress. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { secret } from "./cold/slack-event.ts";
import { serveParent } from "./measure.ts";

const answers: Record<string, string> = {
  "AmazonSQS.SendMessage": JSON.stringify({ MessageId: "m-1" }),
  "secretsmanager.GetSecretValue": JSON.stringify({ SecretString: secret }),
};

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const answer = answers[String(request.headers["x-amz-target"])] ?? "{}";
    response.writeHead(200, {
      "content-type": "application/x-amz-json-1.0",
      "content-length": Buffer.byteLength(answer),
    });
    response.end(answer);
  });
});
await serveParent(async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
