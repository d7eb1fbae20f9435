/** One exchange with the Web API through `@slack/web-api`, which is asked for nothing but the call itself. */
import type { Logger } from "@slack/web-api";
import { abortable } from "../transport/abortable.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { encodeArgs } from "./encode-args.ts";
import { SlackError } from "./slack.ts";

/** The package would log what it sends. */
const nothing = () => {};
const mute = { debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing };
/** Visible ASCII: `fetch` throws on most other characters in a header. */
const headerValue = /^[\x21-\x7e]+$/;
const silentLogger = { ...mute, getLevel: () => "error" } as Logger;

/**
 * Its own retries are off: it would post again after a 500. A client per call, since token and signal belong to one call
 * (making one takes less than 0.1 ms). The package is loaded at the first call: that takes 30 to 60 ms, which the start
 * does not have to wait for.
 *
 * Rejects with what the package throws, or with a SlackError for what fails before `fetch` is called. Nothing was sent then:
 * `unavailable` without a token, `gone` with a token that no header can carry, `refused` for arguments that cannot be encoded.
 */
export async function callWebApi({
  token,
  apiUrl,
  method,
  args,
  timeoutMs,
  signal,
}: {
  token: () => Promise<string>;
  apiUrl: string;
  method: string;
  args: Record<string, unknown>;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<unknown> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { WebClient } = await import("@slack/web-api");
  const secret = await abortable({ promise: token(), signal: bounded }).catch((cause: unknown) => {
    throw cause instanceof SlackError ? cause : new SlackError("unavailable", { cause });
  });
  // Slack would say the same of it, if it could be sent.
  if (!headerValue.test(secret)) throw new SlackError("gone", { slackError: "invalid_auth" });
  const send = boundedFetch({ signal: bounded });
  let mayBeSent = false;
  try {
    const client = new WebClient(secret, {
      slackApiUrl: apiUrl,
      fetch: (input, init) => {
        mayBeSent = true;
        return send(input, init);
      },
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      logger: silentLogger,
    });
    return await client.apiCall(method, encodeArgs(args));
  } catch (cause) {
    throw mayBeSent ? cause : new SlackError("refused", { cause });
  }
}
