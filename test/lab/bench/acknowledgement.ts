/** Bench of the warm ingress on AWS: one signed event until its answer, with the call of SQS, beside a call signed by hand. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { Agent, request } from "node:http";
import { type BenchRun, rank, takeTurns } from "./bench.ts";
import { secret, slackEvent } from "./cold/slack-event.ts";
import { startServer } from "./measure.ts";
import type { BenchRow } from "./table.ts";

const rounds = 40;
const callsPerRound = 100;
const region = "eu-central-1";
const keys = { id: "AKIDEXAMPLE", secret: "an-aws-secret" };

/** Milliseconds per event: the best decile of short rounds that take turns, so that both meet the same machine. */
export async function benchAcknowledgement(run: BenchRun): Promise<BenchRow> {
  const { url, stop } = await startServer({ file: "sqs-server.ts", words: [] });
  try {
    const [byHand, own] = [side(signedByHand(url)), side(await ingressHandler(url))];
    await takeTurns({ run, usual: rounds, warmUps: 5, turns: [byHand.turn, own.turn] });
    const both = { ours: own.best(), baseline: byHand.best() };
    const name = "an event on AWS until its answer, with its call of SQS";
    return { name, ...both, unit: "ms", goal: { atMost: 1.75, aim: 1.4 } };
  } finally {
    await stop();
  }
}

function side(handle: Handle): { turn: (isCounted: boolean) => Promise<void>; best(): number } {
  const times: number[] = [];
  return {
    async turn(isCounted) {
      const ms = await msPerCall(handle);
      if (isCounted) times.push(ms);
    },
    best: () => rank(times, 0.1),
  };
}

async function msPerCall(handle: Handle): Promise<number> {
  const event = JSON.parse(slackEvent());
  const startMs = performance.now();
  for (let count = 0; count < callsPerRound; count += 1) {
    const { statusCode } = await handle(event);
    if (statusCode !== 200) throw new Error(`the ingress answered ${statusCode}`);
  }
  return (performance.now() - startMs) / callsPerRound;
}

type ApiEvent = { headers: Record<string, string>; body: string };
type Handle = (event: ApiEvent) => Promise<{ statusCode: number }>;

/** The entry reads its environment when it is loaded. It logs errors only, as nothing else here writes. */
async function ingressHandler(url: string): Promise<Handle> {
  Object.assign(process.env, {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: keys.id,
    AWS_SECRET_ACCESS_KEY: keys.secret,
    AWS_ENDPOINT_URL: url,
    SEKISHO_QUEUE_URL: `${url}/1/tasks`,
    SEKISHO_SIGNING_SECRET: "signing",
    SEKISHO_LOG_LEVEL: "error",
  });
  const { handler } = await import("@sekisho/verification/handlers/ingress.ts");
  return handler;
}

/** Checks the event's signature, and sends its body to SQS with a signature whose key is kept. Checks nothing else. */
function signedByHand(url: string): Handle {
  const { hostname, port, host } = new URL(url);
  const agent = new Agent({ keepAlive: true });
  const names = "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target";
  let scope = "";
  let key: Buffer = Buffer.alloc(0);
  return async ({ headers: values, body }) => {
    const text = `v0:${values["x-slack-request-timestamp"]}:${body}`;
    const signature = Buffer.from((values["x-slack-signature"] ?? "").slice(3), "hex");
    if (!timingSafeEqual(createHmac("sha256", secret).update(text).digest(), signature))
      return { statusCode: 401 };
    JSON.parse(body);
    const payload = JSON.stringify({ QueueUrl: `${url}/1/tasks`, MessageBody: body });
    const date = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const hash = createHash("sha256").update(payload).digest("hex");
    const day = date.slice(0, 8);
    if (!scope.startsWith(day)) {
      scope = `${day}/${region}/sqs/aws4_request`;
      key = scope
        .split("/")
        .reduce<Buffer>(
          (last, part) => createHmac("sha256", last).update(part).digest(),
          Buffer.from(`AWS4${keys.secret}`),
        );
    }
    const headers = {
      "content-type": "application/x-amz-json-1.0",
      host,
      "x-amz-content-sha256": hash,
      "x-amz-date": date,
      "x-amz-target": "AmazonSQS.SendMessage",
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}`);
    const canonical = ["POST", "/", "", ...lines, "", names, hash].join("\n");
    const toSign = [
      "AWS4-HMAC-SHA256",
      date,
      scope,
      createHash("sha256").update(canonical).digest("hex"),
    ].join("\n");
    const signed = createHmac("sha256", key).update(toSign).digest("hex");
    const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope}, SignedHeaders=${names}, Signature=${signed}`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    request({
      hostname,
      port,
      method: "POST",
      path: "/",
      agent,
      headers: { ...headers, authorization },
    })
      .on("response", (response) => response.resume().on("end", resolve))
      .on("error", reject)
      .end(payload);
    await promise;
    return { statusCode: 200 };
  };
}
