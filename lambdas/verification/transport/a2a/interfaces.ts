/** Lists the interfaces of an agent's card that Sekisho can call. */

import type { AgentInterface, ReadCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { listInterfaces } from "@sekisho/contracts/a2a/v03/card.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { BindingName } from "../carrier.ts";
import { createCardError, foreignText, joinNames } from "./card-problem.ts";

/** `tenant` is echoed in every request (A2A 1.0, section 4.4.6). */
export type UsableInterface = {
  url: URL;
  version: A2aVersion;
  binding: BindingName;
  tenant: string | undefined;
};

/**
 * Lists the interfaces over JSON-RPC and HTTP+JSON: the highest version first, JSON-RPC first within a version, and else in the card's order. A
 * relative address is resolved with the card's. Leaves out addresses outside the card's origin, because credentials must not go there, and interfaces of another tenant than the first one's. `url` replaces all addresses.
 * Throws `version_not_supported` without a common version, and `invalid_response` without a usable address.
 */
export function listUsableInterfaces(request: {
  card: ReadCard;
  cardUrl: URL;
  url: URL | undefined;
  /** Those that the carrier can carry. */
  bindings: readonly BindingName[];
  version: A2aVersion | undefined;
}): readonly [UsableInterface, ...UsableInterface[]] {
  const { card, cardUrl, url, bindings, version: pinnedVersion } = request;
  const offeredInterfaces = listInterfaces(card);
  const supportedInterfaces = offeredInterfaces.flatMap(
    ({ url: address, protocolBinding, protocolVersion, tenant }) => {
      const version = readVersion(protocolVersion);
      const binding = readBinding({ protocolBinding });
      const isSupported =
        binding !== undefined && bindings.includes(binding) && version !== undefined;
      return isSupported && version === (pinnedVersion ?? version)
        ? [{ address, version, binding, tenant }]
        : [];
    },
  );
  if (supportedInterfaces.length === 0)
    throw createVersionError({ offeredInterfaces, bindings, pinnedVersion });
  const [firstInterface, ...otherInterfaces] = supportedInterfaces
    .flatMap(({ address, ...members }) => {
      const usableUrl = url ?? resolveAddress(cardUrl, address);
      return usableUrl === undefined ? [] : [{ ...members, url: usableUrl }];
    })
    .toSorted((one, other) => rankOf(other) - rankOf(one));
  if (firstInterface === undefined) {
    const message =
      "Its agent card names an address at another origin than the card's own, where its credentials do not go. If that address is right, set the destination's url to it.";
    throw createCardError("CardAtOtherOrigin", message);
  }
  return [
    firstInterface,
    ...otherInterfaces.filter(({ tenant }) => tenant === firstInterface.tenant),
  ];
}

function rankOf({ version, binding }: Pick<UsableInterface, "version" | "binding">): number {
  return Number(version) + (binding === "JSONRPC" ? 0.1 : 0);
}

/** Google's registries write `HTTP_JSON`. */
function readBinding({
  protocolBinding,
}: Pick<AgentInterface, "protocolBinding">): BindingName | undefined {
  const name = protocolBinding.toUpperCase().replace("_", "+");
  return name === "JSONRPC" || name === "HTTP+JSON" ? name : undefined;
}

/** Says what the card offers instead. */
function createVersionError(request: {
  offeredInterfaces: readonly AgentInterface[];
  bindings: readonly BindingName[];
  pinnedVersion: A2aVersion | undefined;
}): SekishoError {
  const { offeredInterfaces, bindings, pinnedVersion } = request;
  if (offeredInterfaces.length === 0) {
    return createCardError(
      "CardIsForeign",
      `${foreignText} It has a name, but no address to call.`,
    );
  }
  const carriedInterfaces = offeredInterfaces.filter((one) => {
    const binding = readBinding(one);
    return binding !== undefined && bindings.includes(binding);
  });
  const versions = joinNames(carriedInterfaces.map(({ protocolVersion }) => protocolVersion));
  if (versions === "") {
    const names = joinNames(offeredInterfaces.map(({ protocolBinding }) => protocolBinding));
    const wanted = bindings.includes("HTTP+JSON") ? "JSON-RPC or HTTP+JSON" : "JSON-RPC";
    const message = `Its agent card offers ${names} only, and Sekisho calls it over ${wanted}. Ask its maker for that, or put a gateway in front of it.`;
    return createCardError("CardOfOtherBinding", message);
  }
  const isPinned =
    pinnedVersion !== undefined &&
    carriedInterfaces.some((one) => readVersion(one.protocolVersion));
  const advice = isPinned
    ? `the destination's version is ${pinnedVersion}. Set it to "highest".`
    : "Sekisho supports 1.0, 0.3 and 0.2. Ask its maker for one of them.";
  const message = `Its agent card offers version ${versions} of A2A only, and ${advice}`;
  return createCardError("CardOfOtherVersion", message);
}

/** Treats 1.x as 1.0, and 0.2 as 0.3, because their messages are alike and some SDKs of 0.3 write 0.2 into their cards. */
function readVersion(protocolVersion: string): A2aVersion | undefined {
  if (/^1(\.|$)/.test(protocolVersion)) return "1.0";
  return /^0\.[23](\.|$)/.test(protocolVersion) ? "0.3" : undefined;
}

/** Resolves a relative address. One that begins with two slashes names a host, so it is refused. */
function resolveAddress(cardUrl: URL, address: string): URL | undefined {
  const namesHost = /^\s*[/\\]{2}/.test(address);
  const resolvedUrl = parseUrl(address) ?? (namesHost ? null : parseUrl(address, cardUrl.href));
  if (resolvedUrl === null || resolvedUrl.origin !== cardUrl.origin) return undefined;
  try {
    return parseCheckedUrl(resolvedUrl.href);
  } catch {
    return undefined;
  }
}

/** Converts a failed fetch of the card to an error of the call. It is never ambiguous, and never about the message's own size. */
export function toUndeliveredError(error: unknown): SekishoError {
  if (!(error instanceof SekishoError))
    return new SekishoError("unavailable", { cause: error, certainty: "undelivered" });
  const { reason, details, cause } = error;
  if (reason === "payload_too_large") {
    return createCardError(
      "CardTooLarge",
      "Its agent card is larger than 256 KiB. Check the card's address.",
    );
  }
  return new SekishoError(reason === "ambiguous" ? "unavailable" : reason, {
    details,
    cause,
    certainty: "undelivered",
  });
}
