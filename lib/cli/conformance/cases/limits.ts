/** Cases of limits. */
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import { type ConformanceCase, Deviation } from "../case.ts";
import { hasReason, readPeerError } from "../expect.ts";

export const limitCases: readonly ConformanceCase[] = [
  {
    name: "limits/too-large",
    level: "required",
    expects: "300 KiB that are no JSON: refused for their size before they are parsed, by HTTP 413 or error -32075",
    async check({ peer }) {
      const answer = await peer.send({ body: "x".repeat(maxRequestBytes + 44 * 1024) });
      const error = readPeerError(answer);
      const says = error !== undefined && hasReason({ error, reason: "payload_too_large", dialect: peer.dialect });
      if (answer.status !== 413 && !says) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];
