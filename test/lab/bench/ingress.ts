/** Bench of the ingress: all that it does with one event, beside the bare signature check and JSON.parse. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createIngress, type IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import { benchAcknowledgement } from "./acknowledgement.ts";
import { type BenchRun, takeTurns } from "./bench.ts";
import { type BenchTable, ratioTable } from "./table.ts";

const secret = "8f742231b10e8888abcd99yyyzzz85a5";
const nowMs = 1_762_750_300_000;
const batch = 2000;
const rounds = 10;

/** Requests per second, the best of some rounds that take turns, so that both meet the same machine. Then the whole way on AWS. */
export async function benchIngress(run: BenchRun): Promise<BenchTable[]> {
  const request = mentionRequest();
  const ingress = createIngress({
    signingSecret: createCachedSecret({ readSecret: async () => secret }),
    queue: { send: async () => {} },
    now: () => nowMs,
    log: silentLog,
  });
  const { status } = await ingress(request);
  if (status !== 200) throw new Error(`the ingress answered ${status}`);

  let ours = 0;
  let baseline = 0;
  const turns = [
    async () => {
      baseline = Math.max(baseline, await perSecond(async () => bare(request)));
    },
    async () => {
      ours = Math.max(ours, await perSecond(() => ingress(request)));
    },
  ];
  await takeTurns({ run, usual: rounds, turns });
  const alone = {
    name: "an event in process, its message sent nowhere",
    ours,
    baseline,
    unit: "events/s",
  };
  return [
    ratioTable({
      name: "ingress",
      baseline: "by hand",
      rows: [await benchAcknowledgement(run), alone],
    }),
  ];
}

async function perSecond(act: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  for (let done = 0; done < batch; done += 1) await act();
  return (batch / (performance.now() - startMs)) * 1000;
}

function mentionRequest(): IngressRequest {
  const body = readFileSync(new URL("../../fixtures/slack/app-mention.json", import.meta.url));
  const timestamp = String(nowMs / 1000);
  const hex = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex");
  return {
    headers: [
      ["Host", "127.0.0.1:3000"],
      ["Content-Type", "application/json"],
      ["X-Slack-Request-Timestamp", timestamp],
      ["X-Slack-Signature", `v0=${hex}`],
    ],
    body,
  };
}

function bare({ headers, body }: IngressRequest): unknown {
  const [timestamp, signature] = [headers[2]?.[1] ?? "", headers[3]?.[1] ?? ""];
  const expectedResult = createHmac("sha256", secret)
    .update(`v0:${timestamp}:`)
    .update(body)
    .digest();
  if (!timingSafeEqual(expectedResult, Buffer.from(signature.slice(3), "hex")))
    throw new Error("bad signature");
  return JSON.parse(Buffer.from(body).toString());
}
