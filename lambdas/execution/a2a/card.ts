/** The host's agent card of A2A 1.0 (section 4.4.1), made of the configuration. */
import type { AgentCard, SecurityScheme } from "../../../contracts/a2a/agent-card.ts";
import { questionKey, slackMessageKey, taskKey } from "../../../contracts/a2a/extension.ts";
import type { A2aConfig } from "../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";

/**
 * Texts and files of any kind come in; what agents make goes out as text, JSON and files. A client may send another media
 * type all the same: the agent decides.
 */
const modes = ["text/plain", "application/json", "application/octet-stream"];

/** What `metadata` may hold beside the protocol. None is required: that is the default, which a card leaves out. */
const extensions = [
  { uri: slackMessageKey, description: "In a message: the Slack message that it is made of." },
  { uri: questionKey, description: "In a status message: the options of a question; in its answer: the chosen one." },
  {
    uri: taskKey,
    description:
      "In a task: when to look again, how far it is, why it failed. In its first message: how much time it has.",
  },
];

/**
 * Nothing in it is empty or a default of the protocol that need not be there, so that all readers come to the same
 * canonical form (section 8.4.1). `url` is where requests go; `extended`: the card for callers who have proven who they are.
 */
export function createCard({
  a2a,
  url,
  authenticator,
  streaming,
  push,
  extended,
}: {
  a2a: A2aConfig;
  url: string;
  authenticator: AuthenticatorConfig;
  streaming: boolean;
  push: boolean;
  extended: boolean;
}): AgentCard {
  const { name, description, version, provider, documentationUrl, iconUrl, tenant, extendedSkills = [] } = a2a;
  const common = { url, protocolBinding: "JSONRPC", ...(tenant && { tenant }) };
  return {
    name,
    description,
    supportedInterfaces: [
      { ...common, protocolVersion: "1.0" },
      { ...common, protocolVersion: "0.3" },
    ],
    ...(provider && { provider }),
    version,
    ...(documentationUrl && { documentationUrl }),
    capabilities: {
      streaming,
      pushNotifications: push,
      extensions,
      extendedAgentCard: extendedSkills.length > 0,
    },
    ...securityOf(authenticator),
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: extended ? [...a2a.skills, ...extendedSkills] : a2a.skills,
    ...(iconUrl && { iconUrl }),
  };
}

// How the card says what an authenticator asks of callers (A2A 1.0, sections 4.5 and 7.3).

type Security = Required<Pick<AgentCard, "securitySchemes" | "securityRequirements">>;

/**
 * Nothing for `none`, where nothing is asked, and for `platform`, where only the platform knows what it asks. Tokens are
 * always sent as bearer tokens; where their issuers have a discovery document, the card says from whom they come.
 */
function securityOf(authenticator: AuthenticatorConfig): Security | undefined {
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
