/** Lists the interfaces of an agent's card that Sekisho can call. */

import type { ReadCard } from "../../../../contracts/a2a/card.ts";
import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { listInterfaces } from "../../../../contracts/a2a/v03/card.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import { parseUrl } from "../../../shared/untrusted-input.ts";
import { parseCheckedUrl } from "../authorizer/authorizer.ts";

/** `tenant` is echoed in every request (A2A 1.0, section 4.4.6). */
export type UsableInterface = { url: URL; version: A2aVersion; tenant: string | undefined };

/**
 * Lists the JSON-RPC interfaces, highest version first, and in the card's order within a version. Leaves out addresses outside the card's
 * origin, because credentials must not go there, and interfaces of another tenant than the first one's. `url` replaces all addresses.
 * Throws `version_not_supported` without a common version, and `invalid_response` without a usable address.
 */
export function listUsableInterfaces(request: {
  card: ReadCard;
  cardUrl: URL;
  url: URL | undefined;
  version: A2aVersion | undefined;
}): readonly [UsableInterface, ...UsableInterface[]] {
  const { card, cardUrl, url, version: pinned } = request;
  const spoken = listInterfaces(card).flatMap(({ url: address, protocolBinding, protocolVersion, tenant }) => {
    const version = readVersion(protocolVersion);
    const isSpoken = protocolBinding.toUpperCase() === "JSONRPC" && version !== undefined;
    return isSpoken && version === (pinned ?? version) ? [{ address, version, tenant }] : [];
  });
  if (spoken.length === 0) {
    const cause = new Error("the card names no JSON-RPC interface of a supported version");
    throw new SekishoError("version_not_supported", { cause, undelivered: true });
  }
  const [first, ...others] = spoken
    .flatMap(({ address, ...rest }) => {
      const usable = url ?? addressWithin(cardUrl.origin, address);
      return usable === undefined ? [] : [{ ...rest, url: usable }];
    })
    .toSorted((one, other) => Number(other.version) - Number(one.version));
  if (first === undefined) {
    throw createUnusableCardError("the card's interface has another origin than the card. Set the destination's url");
  }
  return [first, ...others.filter(({ tenant }) => tenant === first.tenant)];
}

/** Treats 1.x as 1.0. Versions before 0.3 are not supported. */
function readVersion(protocolVersion: string): A2aVersion | undefined {
  if (/^1(\.|$)/.test(protocolVersion)) return "1.0";
  return /^0\.3(\.|$)/.test(protocolVersion) ? "0.3" : undefined;
}

function addressWithin(origin: string, address: string): URL | undefined {
  if (parseUrl(address)?.origin !== origin) return undefined;
  try {
    return parseCheckedUrl(address);
  } catch {
    return undefined;
  }
}

/** Converts a failed fetch of the card to an error of the call. It is never ambiguous, and never about the message's own size. */
export function toUndeliveredError(thrown: unknown): SekishoError {
  if (!(thrown instanceof SekishoError)) return new SekishoError("unavailable", { cause: thrown, undelivered: true });
  const { reason, details, exact, cause } = thrown;
  const shown = reason === "ambiguous" ? "unavailable" : reason === "payload_too_large" ? "invalid_response" : reason;
  return new SekishoError(shown, { details, exact, cause, undelivered: true });
}

export function createUnusableCardError(why: string): SekishoError {
  return new SekishoError("invalid_response", { cause: new Error(why), undelivered: true });
}
