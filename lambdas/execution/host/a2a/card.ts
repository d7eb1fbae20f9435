/** The host's agent card of A2A 1.0 (section 4.4.1), made of the configuration. Pure. */
import type { AgentCard } from "../../../../contracts/a2a/agent-card.ts";
import { questionKey, slackMessageKey, taskKey } from "../../../../contracts/a2a/extension.ts";
import type { A2aConfig } from "../../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../../shared/config/authenticator-schema.ts";
import { securityOf } from "./card/security.ts";

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
