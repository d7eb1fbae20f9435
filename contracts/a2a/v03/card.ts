/** Writes agent cards of A2A 0.3 (section 5.5), and lists the interfaces of a card of either version. */
import type { AgentCard, AgentInterface, ReadCard, SecurityScheme } from "../card.ts";

/** Returns the card for clients of 0.3, or undefined if no interface supports 0.3. Leaves out the signatures, which cover the card of 1.0. */
export function cardToV03(card: AgentCard): Record<string, unknown> | undefined {
  const {
    supportedInterfaces,
    capabilities,
    securitySchemes,
    securityRequirements,
    signatures: _,
    ...same
  } = card;
  const { extendedAgentCard, ...sameCapabilities } = capabilities;
  const [main, ...additional] = supportedInterfaces.filter(
    ({ protocolVersion }) => protocolVersion === "0.3",
  );
  if (main === undefined) return undefined;
  return {
    protocolVersion: "0.3.0",
    ...same,
    url: main.url,
    preferredTransport: main.protocolBinding,
    additionalInterfaces: additional.map(({ url, protocolBinding }) => ({
      url,
      transport: protocolBinding,
    })),
    capabilities: sameCapabilities,
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    securitySchemes:
      securitySchemes &&
      Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, schemeToV03(scheme)]),
      ),
    security: securityRequirements?.map(({ schemes }) =>
      Object.fromEntries(
        Object.entries(schemes).map(([name, { list = [] }]) => [
          name,
          hasScopes(securitySchemes?.[name]) ? list : [],
        ]),
      ),
    ),
  };
}

/**
 * Returns a card for clients of either version, because clients of 0.3 never name a version and some of 1.0 do not. Readers ignore members that
 * they do not know (A2A 1.0, section 5.7); only a check against the schema of 1.0 fails. A security scheme has the members of both versions.
 */
export function createCombinedCard(card: AgentCard): Record<string, unknown> {
  const { signatures: _, ...unsigned } = card;
  const securitySchemes =
    card.securitySchemes &&
    Object.fromEntries(
      Object.entries(card.securitySchemes).map(([name, scheme]) => [
        name,
        { ...schemeToV03(scheme), ...scheme },
      ]),
    );
  return { ...unsigned, ...cardToV03(card), capabilities: card.capabilities, securitySchemes };
}

function schemeToV03(scheme: SecurityScheme): Record<string, unknown> {
  return "httpAuthSecurityScheme" in scheme
    ? { type: "http", ...scheme.httpAuthSecurityScheme }
    : { type: "openIdConnect", ...scheme.openIdConnectSecurityScheme };
}

/** 0.3 uses the requirements of OpenAPI 3.0, in which HTTP authentication has no scopes. */
function hasScopes(scheme: SecurityScheme | undefined): boolean {
  return scheme !== undefined && "openIdConnectSecurityScheme" in scheme;
}

/** Lists the interfaces of 1.0 first. Those of 0.3 have the card's version, and JSON-RPC by default. */
export function listInterfaces(card: ReadCard): AgentInterface[] {
  const {
    supportedInterfaces = [],
    url,
    preferredTransport = "JSONRPC",
    additionalInterfaces = [],
  } = card;
  const protocolVersion = card.protocolVersion ?? "0.3";
  const main =
    url === undefined ? [] : [{ url, protocolBinding: preferredTransport, protocolVersion }];
  const additional = additionalInterfaces.map(({ url, transport }) => ({
    url,
    protocolBinding: transport,
    protocolVersion,
  }));
  return [...supportedInterfaces, ...main, ...additional];
}
