/** A transport of whose exchanges a share fails: certainly not sent, not sent although nobody knows, or sent with the answer lost. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Transport } from "../../../lambdas/verification/transport/transport.ts";
import { bump, type CallCounts } from "../call-counts.ts";

export function failingTransport({
  transport,
  failing,
  random,
  counts,
}: {
  transport: Transport;
  failing: number;
  random: () => number;
  counts: CallCounts;
}): Transport {
  return {
    ...transport,
    async send(request) {
      const { method } = JSON.parse(Buffer.from(request.body).toString()) as { method: string };
      bump(counts.calls, method);
      if (random() >= failing) return transport.send(request);
      bump(counts.failed, method);
      const fate = Math.floor(random() * 3);
      if (fate === 0) throw new SekishoError("unavailable");
      if (fate === 1) await transport.send(request);
      throw new SekishoError("ambiguous");
    },
  };
}
