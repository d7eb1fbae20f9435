/** Agent cards of A2A 0.3 (section 5.5): written from a card of 1.0, and where an agent can be reached by a card of either. */
import type { AgentCard, AgentInterface, ReadCard, SecurityScheme } from "../card.ts";

/**
 * The card for clients of 0.3; undefined where no interface speaks it. Signatures are left out: they are over the card
 * of 1.0. With `supportedInterfaces` beside it the same card leads clients of both versions to their interface.
 */
export function cardToV03(card: AgentCard): Record<string, unknown> | undefined {
  const { supportedInterfaces, capabilities, securitySchemes, securityRequirements, signatures: _, ...same } = card;
  const { extendedAgentCard, ...sameCapabilities } = capabilities;
  const [main, ...additional] = supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "0.3");
  if (main === undefined) return undefined;
  return {
    protocolVersion: "0.3.0",
    ...same,
    url: main.url,
    preferredTransport: main.protocolBinding,
    additionalInterfaces: additional.map(({ url, protocolBinding }) => ({ url, transport: protocolBinding })),
    capabilities: sameCapabilities,
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    securitySchemes:
      securitySchemes &&
      Object.fromEntries(Object.entries(securitySchemes).map(([name, scheme]) => [name, schemeToV03(scheme)])),
    security: securityRequirements?.map(({ schemes }) =>
      Object.fromEntries(
        Object.entries(schemes).map(([name, { list = [] }]) => [name, hasScopes(securitySchemes?.[name]) ? list : []]),
      ),
    ),
  };
}

function schemeToV03(scheme: SecurityScheme): Record<string, unknown> {
  return "httpAuthSecurityScheme" in scheme
    ? { type: "http", ...scheme.httpAuthSecurityScheme }
    : { type: "openIdConnect", ...scheme.openIdConnectSecurityScheme };
}

/** In OpenAPI 3.0, whose requirements those of 0.3 are, HTTP authentication has no scopes. */
function hasScopes(scheme: SecurityScheme | undefined): boolean {
  return scheme !== undefined && "openIdConnectSecurityScheme" in scheme;
}

/** Every interface that a card names, 1.0's first: those of a card of 0.3 have the card's version, and JSON-RPC where it names none. */
export function listInterfaces(card: ReadCard): AgentInterface[] {
  const { supportedInterfaces = [], url, preferredTransport = "JSONRPC", additionalInterfaces = [] } = card;
  const protocolVersion = card.protocolVersion ?? "0.3";
  const main = url === undefined ? [] : [{ url, protocolBinding: preferredTransport, protocolVersion }];
  const additional = additionalInterfaces.map(({ url, transport }) => ({
    url,
    protocolBinding: transport,
    protocolVersion,
  }));
  return [...supportedInterfaces, ...main, ...additional];
}
