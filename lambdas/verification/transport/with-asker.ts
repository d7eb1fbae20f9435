/** Adds the asker's token to the calls of a carrier that has no authorizer. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerAudience, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { Carrier } from "./carrier.ts";

/** A call without its token is not sent, and fails as `undelivered`. */
export function withAsker(
  options: { tokens: AskerTokens; to: AskerAudience; header: string },
  carrier: Carrier,
): Carrier {
  const { tokens, to, header } = options;

  async function issue(request: Parameters<AskerTokens["issue"]>[0]): Promise<string> {
    try {
      return await abortable({ promise: tokens.issue(request), signal: request.signal });
    } catch (error) {
      throw error instanceof SekishoError
        ? error
        : new SekishoError("unavailable", { cause: error, certainty: "undelivered" });
    }
  }

  return {
    ...carrier,
    async send(request) {
      const { asker, body, signal } = request;
      if (asker === undefined) return carrier.send(request);
      const token = await issue({ to, asker, body, signal });
      return carrier.send({ ...request, headers: { ...request.headers, [header]: token } });
    },
  };
}
