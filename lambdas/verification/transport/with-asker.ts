/** Adds the asker's token to the calls of a carrier that has no authorizer. */
import type { AskerAudience, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import type { Carrier } from "./carrier.ts";

export function withAsker(
  options: { tokens: AskerTokens; to: AskerAudience; header: string },
  carrier: Carrier,
): Carrier {
  const { tokens, to, header } = options;
  return {
    ...carrier,
    async send(request) {
      const { asker, body, signal } = request;
      if (asker === undefined) return carrier.send(request);
      const token = await tokens.issue({ to, asker, body, signal });
      return carrier.send({ ...request, headers: { ...request.headers, [header]: token } });
    },
  };
}
