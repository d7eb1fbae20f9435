/** How the card says what an authenticator asks of callers (A2A 1.0, sections 4.5 and 7.3). Pure. */
import type { AgentCard, SecurityScheme } from "../../../../../contracts/a2a/agent-card.ts";
import type { AuthenticatorConfig } from "../../../../shared/config/authenticator-schema.ts";

type Security = Required<Pick<AgentCard, "securitySchemes" | "securityRequirements">>;

/**
 * Nothing for `none`, where nothing is asked, and for `platform`, where only the platform knows what it asks. Tokens are
 * always sent as bearer tokens; where their issuers have a discovery document, the card says from whom they come.
 */
export function securityOf(authenticator: AuthenticatorConfig): Security | undefined {
  switch (authenticator.type) {
    case "none":
    case "platform":
      return undefined;
    case "bearer":
      return anyOf({ bearer: httpBearer("A token that both sides know.") });
    case "jwt":
      return ofIssuers(authenticator.issuers);
    case "web-identity":
      return ofIssuers([authenticator]);
  }
}

type Issuer = { issuer: string; audience: string; jwksUrl?: string | undefined };

/** An issuer whose keys are named may have no discovery document. */
function ofIssuers(issuers: readonly Issuer[]): Security {
  const discovered = issuers
    .filter(({ jwksUrl }) => jwksUrl === undefined)
    .map(({ issuer, audience }, index) => {
      const openIdConnectUrl = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const description = `A token of ${issuer} for the audience ${audience}, sent as a bearer token.`;
      return [
        index === 0 ? "openid" : `openid${index + 1}`,
        { openIdConnectSecurityScheme: { description, openIdConnectUrl } },
      ];
    });
  const sources = issuers.map(({ issuer, audience }) => `${issuer} for the audience ${audience}`).join(", or of ");
  return anyOf({ ...Object.fromEntries(discovered), bearer: httpBearer(`A token of ${sources}.`, "JWT") });
}

function httpBearer(description: string, bearerFormat?: "JWT"): SecurityScheme {
  return { httpAuthSecurityScheme: { description, scheme: "Bearer", ...(bearerFormat && { bearerFormat }) } };
}

/** A scope or role each, since verifiers drop empty lists from the canonical form, and the whole requirement with them. */
function anyOf(securitySchemes: Record<string, SecurityScheme>): Security {
  const securityRequirements = Object.entries(securitySchemes).map(([name, scheme]) => {
    return { schemes: { [name]: { list: ["openIdConnectSecurityScheme" in scheme ? "openid" : "caller"] } } };
  });
  return { securitySchemes, securityRequirements };
}
