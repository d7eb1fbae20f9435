/** Finds the token that says who asked in a request, and answers for its verification. What verifies is loaded with the first token. */
import { askerHeader, askerTokenType } from "@sekisho/contracts/asker.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import type { Exchange } from "../exchange.ts";
import type { VerifyAsker } from "../received-asker.ts";
import type { ClaimToken } from "../tasks/used-token.ts";
import {
  AskerRefusal,
  type AskerVerifier,
  decodePart,
  type LocalKeys,
  type VerifierSettings,
} from "./asker-token.ts";
import { readBearerToken } from "./authenticator.ts";

/** Takes the request whose token the returned function verifies. */
export type ReceiveAsker = (
  request: Pick<Exchange, "header"> & { body: Uint8Array },
) => VerifyAsker;

/** Logs refusals at most once a minute for each problem. */
export function createReceiveAsker(options: {
  settings: VerifierSettings;
  claimToken: ClaimToken;
  localKeys?: LocalKeys | undefined;
  now: () => number;
  log: Log;
}): ReceiveAsker {
  const { settings, now, log } = options;
  const issuers: ReadonlySet<unknown> = new Set(settings.zones.map(({ issuer }) => issuer));
  const isDue = createMinuteLimiter({ now });
  const openVerifier = createLazyVerifier(options);

  function toError(cause: unknown): SekishoError {
    // The store has logged its own failure.
    if (cause instanceof SekishoError) return cause;
    const cause_kind = errorKind(cause);
    const isRefusal = cause instanceof AskerRefusal;
    const reason = isRefusal ? "asker_unverified" : "unavailable";
    if (isDue(cause_kind)) {
      if (isRefusal) log.warn("asker_refused", { reason, cause_kind });
      else log.error("asker_refused", { reason, cause_kind });
    }
    return new SekishoError(reason, { cause });
  }

  return (request) => async (namedPerson) => {
    try {
      const token = findToken(request, issuers);
      if (token !== undefined)
        return await (await openVerifier()).verify({ token, body: request.body, namedPerson });
      if (settings.mode === "required") throw new AskerRefusal("missing");
      return undefined;
    } catch (error) {
      throw toError(error);
    }
  };
}

/** jose takes long to load, and many processes never get a token. A load that failed is repeated. */
function createLazyVerifier(options: Parameters<typeof createReceiveAsker>[0]) {
  let verifier: Promise<AskerVerifier> | undefined;
  async function load(): Promise<AskerVerifier> {
    const { createAskerVerifier } = await import("./asker-verifier.ts");
    return createAskerVerifier(options);
  }
  return (): Promise<AskerVerifier> => {
    verifier ??= load().catch((error: unknown) => {
      verifier = undefined;
      throw error;
    });
    return verifier;
  };
}

/**
 * The token in the header of its own. Without that header, the bearer, which is what the authorizer `asker` sends. A bearer of another type
 * or issuer only says who the caller is.
 */
function findToken(
  request: Pick<Exchange, "header">,
  issuers: ReadonlySet<unknown>,
): string | undefined {
  const ownToken = request.header(askerHeader);
  if (ownToken !== undefined) return ownToken;
  const bearer = readBearerToken(request);
  const [header, payload] = bearer?.split(".") ?? [];
  const isOfZone =
    decodePart(header)?.typ === askerTokenType && issuers.has(decodePart(payload)?.iss);
  return isOfZone ? bearer : undefined;
}
