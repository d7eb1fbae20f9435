/** One method of the Web API, called with the token of an installation; what all calls of the Slack seam have in common. */
import type { Tokens } from "../installations/tokens.ts";
import type { Repeating } from "./repeating.ts";
import { withRotation } from "./rotation.ts";
import { type Installation, SlackError } from "./slack.ts";
import { toSlackError } from "./to-slack-error.ts";
import { callWebApi } from "./web-api-call.ts";

/** Resolves to Slack's answer, or to undefined for an error that is `fine`. Rejects with a SlackError. */
export type SlackCall = (request: {
  method: string;
  args: Record<string, unknown>;
  installation: Installation;
  signal: AbortSignal;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  /** Slack's errors that say that it is done already. */
  fine?: readonly string[];
  /** Slack's errors that are about this call alone, whatever they mean elsewhere: `refused`. */
  refusals?: readonly string[];
}) => Promise<unknown>;

export function createSlackCall({
  tokens,
  apiUrl,
  timeoutMs,
  repeating,
}: {
  tokens: Tokens;
  apiUrl: string;
  timeoutMs: number;
  repeating: Repeating;
}): SlackCall {
  return ({ method, args, installation, signal, requestId, repeatable, fine = [], refusals = [] }) => {
    const exchange = () =>
      withRotation({
        token: () => tokens.tokenOf(installation),
        newerToken: (tried) => tokens.newerThan({ installation, tried }),
        use: (token) => callWebApi({ token, apiUrl, method, args, timeoutMs, signal }),
      }).catch((thrown: unknown) => {
        const error = toSlackError(thrown);
        const { slackError = "" } = error;
        if (fine.includes(slackError)) return undefined;
        throw refusals.includes(slackError) ? new SlackError("refused", { slackError }) : error;
      });
    return repeating({ method, requestId, repeatable, signal, exchange });
  };
}
